/* Runs a program on the shared memory of ranks, or (with -DPLAIN) on the threads of one process.
 *
 * Every program takes the number of threads per rank as its first argument; a plain one
 * has that many in all. Each program ends with status 0 if its result is right. */
#ifndef PARALLEL_H
#define PARALLEL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Locks that programs use have smaller numbers than this. */
#define LOCKS 4

#ifdef PLAIN

#include <pthread.h>

static pthread_barrier_t parallel_barrier_;
static pthread_mutex_t parallel_locks_[LOCKS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                                 PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int parallel_count_ = 1;
static __thread int parallel_me_;
static void (*parallel_body_)(void);

static void parallel_init(size_t bytes) { (void)bytes; }
static void parallel_finish(void) {}
static int first_rank(void) { return 1; }
static int me(void) { return parallel_me_; }
static int threads(void) { return parallel_count_; }
static void barrier(void) { pthread_barrier_wait(&parallel_barrier_); }
static void reset(void) { barrier(); }
static void lock(unsigned number) { pthread_mutex_lock(&parallel_locks_[number]); }
static void unlock(unsigned number) { pthread_mutex_unlock(&parallel_locks_[number]); }
static void with(unsigned number, void (*section)(void *), void *argument) {
    lock(number);
    section(argument);
    unlock(number);
}
static void *shared(size_t bytes) { return calloc(1, bytes); }
static void place(void *from, size_t bytes, int thread) { (void)from, (void)bytes, (void)thread; }

static void *parallel_thread(void *number) {
    parallel_me_ = (int)(intptr_t)number;
    parallel_body_();
    return NULL;
}

static void run(int count, void (*body)(void)) {
    pthread_t all[256];
    parallel_count_ = count;
    parallel_body_ = body;
    pthread_barrier_init(&parallel_barrier_, NULL, (unsigned)count);
    for (intptr_t i = 1; i < count; i++) pthread_create(&all[i], NULL, parallel_thread, (void *)i);
    body();
    for (int i = 1; i < count; i++) pthread_join(all[i], NULL);
}

#else

#include "syncline_dsm.h"

static void parallel_init(size_t bytes) {
    if (syncline_dsm_init(bytes) != 0) exit(1);
}
static void parallel_finish(void) { syncline_dsm_finish(); }
static int first_rank(void) { return syncline_dsm_rank() == 0; }
static int me(void) { return syncline_dsm_thread(); }
static int threads(void) { return syncline_dsm_threads(); }
static void barrier(void) { syncline_dsm_barrier(); }
static void reset(void) { syncline_dsm_reset(); }
static void lock(unsigned number) { syncline_dsm_lock(number); }
static void unlock(unsigned number) { syncline_dsm_unlock(number); }
static void with(unsigned number, void (*section)(void *), void *argument) {
    syncline_dsm_with(number, section, argument);
}
static void *shared(size_t bytes) {
    void *block = syncline_dsm_alloc_all(bytes);
    if (!block) {
        fprintf(stderr, "no %zu bytes of shared memory\n", bytes);
        exit(1);
    }
    return block;
}
/* Places data at the rank of the thread that uses it most. */
static void place(void *from, size_t bytes, int thread) {
    int of_rank = syncline_dsm_threads() / syncline_dsm_ranks();
    syncline_dsm_place(from, bytes, thread / (of_rank ? of_rank : 1));
}
static void (*parallel_body_)(void);
static void parallel_call(void *unused) {
    (void)unused;
    parallel_body_();
}
static void run(int count, void (*body)(void)) {
    parallel_body_ = body;
    syncline_dsm_run(count, parallel_call, NULL);
}

#endif

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The first item of a thread's part of `count` items. */
static size_t part(size_t count, int thread) { return count * (size_t)thread / (size_t)threads(); }

static int argument(int argc, char **argv, int number, int otherwise) {
    return argc > number ? atoi(argv[number]) : otherwise;
}

/* Random numbers from a seed, the same on every machine. */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static double random_unit(uint64_t *state) { return (double)(next_random(state) >> 11) * 0x1p-53; }

/* Prints the result once; returns the exit status. */
static int report(const char *name, int right, double time) {
    if (first_rank()) printf("%s: %s, %.6f s\n", name, right ? "verified" : "WRONG", time);
    parallel_finish();
    return right ? 0 : 1;
}

/* Avoids warnings in programs that use only some of these functions. */
static void parallel_unused(void) __attribute__((unused));
static void parallel_unused(void) {
    (void)reset, (void)lock, (void)unlock, (void)with, (void)place, (void)part, (void)random_unit;
    (void)me, (void)barrier, (void)shared, (void)argument, (void)seconds, (void)parallel_unused;
}

#endif
