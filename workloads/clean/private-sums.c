/* Each thread counts for itself, and adds its count to the common sum when it is done. */
#include "workload.h"

static const long SAMPLES = 60000000;

static pthread_mutex_t sum_lock = PTHREAD_MUTEX_INITIALIZER;
static long even, odd;

static void *count(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    long counts[2] = {0, 0};
    for (long sample = 0; sample < scaled(SAMPLES); sample++) {
        state = work(state, 4);
        counts[state & 1]++;
    }
    pthread_mutex_lock(&sum_lock);
    even += counts[0];
    odd += counts[1];
    pthread_mutex_unlock(&sum_lock);
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    run_threads(count);
    require(even + odd == threads * scaled(SAMPLES), "samples in the sums");
    return 0;
}
