/* Threads make plans under a lock that the program has built from a semaphore, as FFTW's planner
 * does on request: each thread waits for it, and posts it again when its plan is made.
 *
 * Fixed: each thread makes its plan once, and uses it from then on. */
#include "workload.h"

#include <semaphore.h>

static const long ROUNDS = 6000, PLANNING = 8000, FOLLOWING = 4000;

static sem_t planner;
static long plans;

static void plan(uint64_t *state) {
    sem_wait(&planner); /* FINDING own-lock */
    *state = work(*state, PLANNING);
    plans++;
    sem_post(&planner);
}

static void *transform(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    for (long i = 0; i < scaled(ROUNDS); i++) {
        if (!fixed || i == 0)
            plan(&state);
        state = work(state, FOLLOWING);
    }
    return (void *)(intptr_t)(state != 0 ? 0 : 1);
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    sem_init(&planner, 0, 1);
    run_threads(transform);
    require(plans == threads * (fixed ? 1 : scaled(ROUNDS)), "plans that were made");
    return 0;
}
