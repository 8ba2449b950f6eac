/* Each thread counts into a histogram of its own, under a lock of its own. Only the first thread
 * takes the others' locks too, when it adds up all histograms now and then. The locks are an array,
 * so neighbours share a cache line, and threads that never meet take the line from each other.
 *
 * Fixed: each lock has a line of its own. */
#include "workload.h"

enum { BINS = 64 };
static const long SAMPLES = 10000000, PRINTS = 10;

struct histogram {
    long bins[BINS];
} __attribute__((aligned(2 * CACHE_LINE)));

struct padded_lock {
    pthread_mutex_t mutex;
} __attribute__((aligned(2 * CACHE_LINE)));

static pthread_mutex_t locks[MOST_THREADS] __attribute__((aligned(CACHE_LINE)));
static struct padded_lock padded_locks[MOST_THREADS];
static struct histogram histograms[MOST_THREADS];

static pthread_mutex_t *lock_of(long thread) {
    return fixed ? &padded_locks[thread].mutex : &locks[thread];
}

static void count(long thread, uint64_t sample) {
    long *bins = histograms[thread].bins;
    pthread_mutex_lock(lock_of(thread)); /* FINDING locks-share-line */
    for (int i = 0; i < 8; i++) bins[sample >> 8 * i & (BINS - 1)]++;
    pthread_mutex_unlock(lock_of(thread));
}

static long sum(void) {
    long sum = 0;
    for (int t = 0; t < threads; t++) {
        pthread_mutex_lock(lock_of(t));
        for (int bin = 0; bin < BINS; bin++) sum += histograms[t].bins[bin];
        pthread_mutex_unlock(lock_of(t));
    }
    return sum;
}

static void *measure(void *argument) {
    long own = (intptr_t)argument;
    uint64_t state = seed_of(own);
    long before = 0;
    for (long sample = 0; sample < scaled(SAMPLES); sample++) {
        state = work(state, 10);
        count(own, state);
        if (own == 0 && sample % (scaled(SAMPLES) / PRINTS + 1) == 0) {
            long now = sum();
            require(now >= before, "a sum that only grows");
            before = now;
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    threads = 2;
    read_arguments(argc, argv);
    for (int t = 0; t < threads; t++) pthread_mutex_init(lock_of(t), NULL);
    run_threads(measure);
    require(sum() == 8 * threads * scaled(SAMPLES), "samples in all histograms");
    return 0;
}
