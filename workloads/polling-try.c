/* Threads put their results into a common picture, a tile at a time. They try its lock until
 * they get it, in order not to sleep; another thread needs the processor that they spend on
 * trying.
 *
 * Fixed: pthread_mutex_lock. */
#include "workload.h"

enum { TILE = 4096, TILES = 64 };
static const long COUNT = 240, RENDERING = 1000000, SWEEPS = 100;

static pthread_mutex_t picture_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned picture[TILES][TILE];
static long pasted;

static void paste(uint64_t state) {
    if (fixed) {
        pthread_mutex_lock(&picture_lock);
    } else {
        while (pthread_mutex_trylock(&picture_lock) != 0) { /* FINDING polling-try */
        }
    }
    unsigned *tile = picture[state % TILES];
    for (long sweep = 0; sweep < SWEEPS; sweep++)
        for (int i = 0; i < TILE; i++) tile[i] = tile[i] * 31 + (unsigned)sweep;
    pasted++;
    pthread_mutex_unlock(&picture_lock);
}

static void *render(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    for (long tile = 0; tile < scaled(COUNT); tile++) {
        state = work(state, RENDERING);
        paste(state);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    run_threads(render);
    require(pasted == threads * scaled(COUNT), "tiles in the picture");
    return 0;
}
