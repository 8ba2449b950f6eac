/* A grid is computed in phases with a barrier after each. All threads have equal shares, and
 * each phase is long. */
#include "workload.h"

enum { CELLS = 4096 };
static const long PHASES = 60, STEPS = 2000;

static uint64_t grid[2][CELLS];
static pthread_barrier_t end_of_phase;
static long phases[MOST_THREADS];

static void *compute(void *argument) {
    long own = (intptr_t)argument;
    long from = CELLS * own / threads, to = CELLS * (own + 1) / threads;
    for (long phase = 0; phase < scaled(PHASES); phase++) {
        const uint64_t *old = grid[phase % 2];
        uint64_t *new = grid[(phase + 1) % 2];
        for (long cell = from; cell < to; cell++)
            new[cell] = work(old[cell] + old[(cell + 1) % CELLS] + 1, STEPS);
        phases[own]++;
        pthread_barrier_wait(&end_of_phase);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    pthread_barrier_init(&end_of_phase, NULL, (unsigned)threads);
    run_threads(compute);
    for (int t = 0; t < threads; t++) require(phases[t] == scaled(PHASES), "phases of a thread");
    return 0;
}
