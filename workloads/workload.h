/* What the workloads share: arguments, threads, the measured time, work that no compiler
 * removes, and a way to fail.
 *
 * A workload does a fixed amount of work, prints {"seconds": S} for its measured part, checks
 * its own result, and ends with status 1 if that is wrong:
 *
 *     NAME [--fixed] [--threads N] [--work PERCENT]
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CACHE_LINE = 64, MOST_THREADS = 64 };

/* The arguments. */
static bool fixed;
static int threads = 4;
static long percent = 100;

static inline void require(bool condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "self-check failed: %s\n", what);
        exit(1);
    }
}

static inline void read_arguments(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        bool number = i + 1 < argc;
        if (strcmp(argv[i], "--fixed") == 0)
            fixed = true;
        else if (strcmp(argv[i], "--threads") == 0 && number)
            threads = atoi(argv[++i]);
        else if (strcmp(argv[i], "--work") == 0 && number)
            percent = atol(argv[++i]);
        else
            threads = 0;
    }
    if (threads < 1 || threads > MOST_THREADS || percent < 1) {
        fprintf(stderr, "usage: %s [--fixed] [--threads N] [--work PERCENT]\n", argv[0]);
        exit(2);
    }
}

/* Scales a count by the argument `--work`. */
static inline long scaled(long count) {
    long scaled = count * percent / 100;
    return scaled > 0 ? scaled : 1;
}

/* Arithmetic in steps that depend on each other, about 2 ns each: a stand-in for work on private
 * data. Returns numbers that look random; the state must not be 0. */
static inline uint64_t work(uint64_t state, long steps) {
    for (long step = 0; step < steps; step++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        __asm__ volatile("" : "+r"(state));
    }
    return state;
}

/* An initial state for `work` that differs for each thread. */
static inline uint64_t seed_of(long thread) {
    return 0x9e3779b97f4a7c15u * (uint64_t)(thread + 1);
}

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double measured_from;

static inline void start_measuring(void) { measured_from = now(); }
static inline void stop_measuring(void) { printf("{\"seconds\": %.6f}\n", now() - measured_from); }

static inline pthread_t start_thread(void *(*function)(void *), long number) {
    pthread_t thread;
    void *argument = (void *)(intptr_t)number;
    require(pthread_create(&thread, NULL, function, argument) == 0, "pthread_create");
    return thread;
}

/* Runs `threads` threads with their numbers, from 0, and measures their time. */
static inline void run_threads(void *(*function)(void *)) {
    pthread_t started[MOST_THREADS];
    start_measuring();
    for (int t = 0; t < threads; t++) started[t] = start_thread(function, t);
    for (int t = 0; t < threads; t++) pthread_join(started[t], NULL);
    stop_measuring();
}

#endif
