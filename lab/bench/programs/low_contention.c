// Two threads that mostly compute and seldom want the same lock.
//
//     low_contention ROUNDS
//
// In each round a thread does some arithmetic. In every fourth round it then acquires one of 256
// locks, chosen at random, and counts under the lock. Prints the nanoseconds from the first
// thread's start to the last one's end.
#include "common.h"

#include <pthread.h>

enum { THREADS = 2, LOCKS = 256, ROUNDS_PER_LOCK = 4, STEPS_PER_ROUND = 32 };

static struct {
    _Alignas(64) pthread_mutex_t mutex;
    long count;
} slots[LOCKS];

static struct share {
    uint64_t state;
    double start, end;
} shares[THREADS];

static long rounds;
static pthread_barrier_t start_line;

static void *work(void *own) {
    struct share *share = own;
    keep_apart((int)(share - shares));
    uint64_t state = share->state;
    pthread_barrier_wait(&start_line);
    share->start = now_ns();
    for (long round = 0; round < rounds; round++) {
        for (int step = 0; step < STEPS_PER_ROUND; step++) next_random(&state);
        if (round % ROUNDS_PER_LOCK == 0) {
            unsigned slot = (unsigned)(state >> 32) % LOCKS;
            pthread_mutex_lock(&slots[slot].mutex);
            slots[slot].count++;
            pthread_mutex_unlock(&slots[slot].mutex);
        }
    }
    share->end = now_ns();
    share->state = state;
    return NULL;
}

int main(int argc, char **argv) {
    require(argc == 2, "usage: low_contention ROUNDS");
    rounds = count_argument(argv[1], 1);
    for (int i = 0; i < LOCKS; i++) pthread_mutex_init(&slots[i].mutex, NULL);
    pthread_barrier_init(&start_line, NULL, THREADS);

    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        shares[t].state = 0x9e3779b97f4a7c15u * (uint64_t)(t + 1);
        require(pthread_create(&threads[t], NULL, work, &shares[t]) == 0, "pthread_create");
    }
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    double start = least(shares[0].start, shares[1].start);
    double end = most(shares[0].end, shares[1].end);

    long counted = 0;
    for (int i = 0; i < LOCKS; i++) counted += slots[i].count;
    long each = (rounds + ROUNDS_PER_LOCK - 1) / ROUNDS_PER_LOCK;
    require(counted == THREADS * each, "no count is lost");
    printf("%.0f\n", end - start);
    return 0;
}
