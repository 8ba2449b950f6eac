// 92,000 locks, with work between the acquisitions: a fluid in a grid of cells.
//
//     fluid SWEEPS
//
// The structure is that of PARSEC's fluidanimate with its physics (`grid` has only its locks): each
// cell has a mutex and some particles. For each cell, a thread computes what the cell's particles
// add to the density around its own particles and around those of its 13 neighbours that come later
// in the grid. The thread adds the results to each of these cells under the cell's lock. Two
// threads have half of the grid each.
//
// Prints the number of acquisitions.
#include "common.h"

#include <pthread.h>

enum { X = 46, Y = 50, Z = 40, CELLS = X * Y * Z, THREADS = 2, PARTICLES = 4 };

static struct cell {
    pthread_mutex_t mutex;
    float at[PARTICLES][3], density[PARTICLES];
    int updates;
} cells[CELLS];

static long all_taken[THREADS], sweeps;

// The kernel of smoothed particles: (h^2 - r^2)^3 within the radius h, which is the side of a cell.
static void densities(const struct cell *a, const struct cell *b, float *added) {
    for (int q = 0; q < PARTICLES; q++) {
        added[q] = 0;
        for (int p = 0; p < PARTICLES; p++) {
            float square = 0;
            for (int i = 0; i < 3; i++) {
                float away = a->at[p][i] - b->at[q][i];
                square += away * away;
            }
            float left = 1 - square;
            if (left > 0) added[q] += left * left * left;
        }
    }
}

static void update(const struct cell *cell, struct cell *other) {
    float added[PARTICLES];
    densities(cell, other, added);
    pthread_mutex_lock(&other->mutex);
    for (int q = 0; q < PARTICLES; q++) other->density[q] += added[q];
    other->updates++;
    pthread_mutex_unlock(&other->mutex);
}

// Updates a cell and its later neighbours. Returns the number of updated cells.
static int sweep_cell(int x, int y, int z) {
    int updated = 0, cell = (z * Y + y) * X + x;
    for (int dz = 0; dz <= 1; dz++)
    for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) {
        int inside = z + dz < Z && y + dy >= 0 && y + dy < Y && x + dx >= 0 && x + dx < X;
        int other = cell + (dz * Y + dy) * X + dx;
        if (!inside || other < cell) continue;
        update(&cells[cell], &cells[other]);
        updated++;
    }
    return updated;
}

static void *work(void *own) {
    long *taken = own;
    int thread = (int)(taken - all_taken);
    for (long s = 0; s < sweeps; s++)
    for (int z = Z * thread / THREADS; z < Z * (thread + 1) / THREADS; z++)
    for (int y = 0; y < Y; y++)
    for (int x = 0; x < X; x++) *taken += sweep_cell(x, y, z);
    return NULL;
}

static void fill(void) {
    uint64_t state = 1;
    for (int c = 0; c < CELLS; c++) {
        const int corner[3] = {c % X, c / X % Y, c / X / Y};
        pthread_mutex_init(&cells[c].mutex, NULL);
        for (int p = 0; p < PARTICLES; p++)
            for (int i = 0; i < 3; i++) {
                float within = (float)(next_random(&state) >> 40) * 0x1p-24f;
                cells[c].at[p][i] = (float)corner[i] + within;
            }
    }
}

int main(int argc, char **argv) {
    require(argc == 2, "usage: fluid SWEEPS");
    sweeps = count_argument(argv[1], 1);
    fill();
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        require(pthread_create(&threads[t], NULL, work, &all_taken[t]) == 0, "pthread_create");
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    long counted = 0;
    for (int c = 0; c < CELLS; c++) counted += cells[c].updates;
    require(counted == all_taken[0] + all_taken[1], "no update is lost");
    printf("%ld\n", counted);
    return 0;
}
