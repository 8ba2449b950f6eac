// The parts that the programs share: the time, pinning to processors, random numbers, and errors.
#ifndef COMMON_H
#define COMMON_H

#define _GNU_SOURCE // for the functions of sched.h

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// Marsaglia's xorshift with 64 bits; the state must not be 0.
static inline uint64_t next_random(uint64_t *state) {
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

static inline double least(double a, double b) { return a < b ? a : b; }
static inline double most(double a, double b) { return a > b ? a : b; }

static inline void require(int condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "self-check failed: %s\n", what);
        exit(1);
    }
}

// Pins the calling thread to one of the processors that the process may use. Threads with different
// numbers get different processors if there are enough. Without pinning, short runs mostly show
// whether the scheduler started two threads on one processor.
static inline void keep_apart(int thread) {
    cpu_set_t allowed, own;
    require(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "sched_getaffinity");
    int left = thread % CPU_COUNT(&allowed), cpu = 0;
    while (!CPU_ISSET(cpu, &allowed) || left-- > 0) cpu++;
    CPU_ZERO(&own);
    CPU_SET(cpu, &own);
    require(sched_setaffinity(0, sizeof own, &own) == 0, "sched_setaffinity");
}

// A number on the command line, which must be at least `least`.
static inline long count_argument(const char *text, long least) {
    long count = strtol(text, NULL, 10);
    require(count >= least, "an argument is too small");
    return count;
}

#endif
