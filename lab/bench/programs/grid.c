// 92,000 locks, acquired one after another as fast as the machine can.
//
//     grid ORDER SWEEPS
//
// The structure is that of PARSEC's fluidanimate, without its physics: a grid of cells with a mutex
// in each. For each cell, a thread updates the cell and its 13 neighbours that come later in the
// grid (so that it meets each pair of neighbours once), each under its own lock. Two threads have
// half of the grid each. With ORDER `grid`, the updates come in the order of memory; with `random`,
// the same list of updates is shuffled, so that no cache can predict it.
//
// Prints two figures in nanoseconds: the time of the first sweep, in which every lock is new, and
// the mean time of the SWEEPS after it.
#include "common.h"

#include <pthread.h>
#include <string.h>

enum { X = 46, Y = 50, Z = 40, CELLS = X * Y * Z, THREADS = 2, UPDATES_PER_CELL = 14 };

static struct {
    pthread_mutex_t mutex;
    long count;
} cells[CELLS];

static struct share {
    uint32_t *updates;
    size_t length;
    double start, middle, again, end;
} shares[THREADS];

static long sweeps;
static pthread_barrier_t line;

static void list_updates(struct share *share, int from_z, int to_z) {
    size_t room = (size_t)(to_z - from_z) * X * Y * UPDATES_PER_CELL;
    share->updates = malloc(room * sizeof *share->updates);
    require(share->updates != NULL, "malloc");
    for (int z = from_z; z < to_z; z++)
    for (int y = 0; y < Y; y++)
    for (int x = 0; x < X; x++) {
        int cell = (z * Y + y) * X + x;
        for (int dz = 0; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int inside = z + dz < Z && y + dy >= 0 && y + dy < Y && x + dx >= 0 && x + dx < X;
            int other = cell + (dz * Y + dy) * X + dx;
            if (inside && other >= cell) share->updates[share->length++] = (uint32_t)other;
        }
    }
}

static void shuffle(struct share *share, uint64_t seed) {
    for (size_t i = share->length; i > 1; i--) {
        size_t j = next_random(&seed) % i;
        uint32_t other = share->updates[j];
        share->updates[j] = share->updates[i - 1];
        share->updates[i - 1] = other;
    }
}

// Never inlined, so that the first sweep and the later ones share one call site.
__attribute__((noinline)) static void sweep(const struct share *share) {
    for (size_t i = 0; i < share->length; i++) {
        uint32_t cell = share->updates[i];
        pthread_mutex_lock(&cells[cell].mutex);
        cells[cell].count++;
        pthread_mutex_unlock(&cells[cell].mutex);
    }
}

static void *work(void *own) {
    struct share *share = own;
    keep_apart((int)(share - shares));
    pthread_barrier_wait(&line);
    share->start = now_ns();
    sweep(share);
    share->middle = now_ns();
    pthread_barrier_wait(&line);
    share->again = now_ns();
    for (long s = 0; s < sweeps; s++) sweep(share);
    share->end = now_ns();
    return NULL;
}

int main(int argc, char **argv) {
    require(argc == 3, "usage: grid ORDER SWEEPS");
    sweeps = count_argument(argv[2], 1);
    for (int c = 0; c < CELLS; c++) pthread_mutex_init(&cells[c].mutex, NULL);
    pthread_barrier_init(&line, NULL, THREADS);

    pthread_t threads[THREADS];
    size_t updates = 0;
    for (int t = 0; t < THREADS; t++) {
        list_updates(&shares[t], Z * t / THREADS, Z * (t + 1) / THREADS);
        if (strcmp(argv[1], "random") == 0) shuffle(&shares[t], (uint64_t)t + 1);
        updates += shares[t].length;
        require(pthread_create(&threads[t], NULL, work, &shares[t]) == 0, "pthread_create");
    }
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    const struct share *a = &shares[0], *b = &shares[1];
    double first = most(a->middle, b->middle) - least(a->start, b->start);
    double later = most(a->end, b->end) - least(a->again, b->again);

    size_t counted = 0;
    for (int c = 0; c < CELLS; c++) counted += (size_t)cells[c].count;
    require(counted == updates * (size_t)(sweeps + 1), "no update is lost");
    printf("%.0f %.0f\n", first, later / (double)sweeps);
    return 0;
}
