/* Threads work in rounds, and meet after each at a barrier of the program's own, in which a thread
 * reads the round's number until the last thread has arrived. If there are more threads than
 * processors, the polling threads keep the working ones from running.
 *
 * Fixed: the C library's barrier, in which they sleep. */
#include "workload.h"

static const long ROUNDS = 60, STEPS = 300000;

static pthread_barrier_t sleeping;
static long arrived, round_number;
static uint64_t sum;

static void meet(void) {
    if (fixed) {
        pthread_barrier_wait(&sleeping);
        return;
    }
    long here = __atomic_load_n(&round_number, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL) == threads) {
        arrived = 0;
        __atomic_store_n(&round_number, here + 1, __ATOMIC_RELEASE);
        return;
    }
    while (__atomic_load_n(&round_number, __ATOMIC_ACQUIRE) == here) /* FINDING polling-loop */
        ;
}

static void *operate(void *argument) {
    long me = (intptr_t)argument;
    uint64_t state = seed_of(me);
    for (long i = 0; i < scaled(ROUNDS); i++) {
        state = work(state, STEPS);
        __atomic_add_fetch(&sum, 1, __ATOMIC_RELAXED);
        meet();
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    pthread_barrier_init(&sleeping, NULL, (unsigned)threads);
    run_threads(operate);
    require(sum == (uint64_t)(threads * scaled(ROUNDS)), "rounds that were worked");
    return 0;
}
