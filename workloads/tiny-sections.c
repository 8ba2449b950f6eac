/* A simulated fluid lies on a grid, and each cell has a mutex. Every particle adds its share to
 * the densities of its neighbours, one addition under one lock, tens of millions of times a
 * second. No lock is ever contended, and none is taken often, but the source line that takes
 * them is executed often. (Modelled on fluidanimate.)
 *
 * Fixed: the addition is an atomic instruction. */
#include "workload.h"

enum { WIDTH = 200, HEIGHT = 200, CELLS = WIDTH * HEIGHT, NEIGHBOURS = 4 };
static const long SWEEPS = 1200;

static pthread_mutex_t locks[CELLS];
static long density[CELLS];
static const int neighbours[NEIGHBOURS] = {1, -1, WIDTH, -WIDTH};

static void add_density(int cell, long share) {
    if (fixed) {
        __atomic_fetch_add(&density[cell], share, __ATOMIC_RELAXED); /* REMAINS busy-atomics */
        return;
    }
    pthread_mutex_lock(&locks[cell]); /* FINDING atomic-instead */
    density[cell] += share;
    pthread_mutex_unlock(&locks[cell]);
}

static void *simulate(void *argument) {
    long own = (intptr_t)argument;
    int from = (int)(CELLS * own / threads), to = (int)(CELLS * (own + 1) / threads);
    uint64_t state = seed_of(own);
    for (long sweep = 0; sweep < scaled(SWEEPS); sweep++) {
        for (int cell = from; cell < to; cell++) {
            state = work(state, 8);
            for (int n = 0; n < NEIGHBOURS; n++)
                add_density((cell + neighbours[n] + CELLS) % CELLS, 1 + n);
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int cell = 0; cell < CELLS; cell++) pthread_mutex_init(&locks[cell], NULL);
    run_threads(simulate);
    long each = scaled(SWEEPS) * (1 + 2 + 3 + 4);
    for (int cell = 0; cell < CELLS; cell++) require(density[cell] == each, "a cell's density");
    return 0;
}
