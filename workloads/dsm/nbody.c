/* Gravitation of n bodies over a few steps; each body attracts every other.
 *
 * Verified against the same steps in one thread, in memory of its own. The results must agree bit
 * for bit, since the order of additions does not depend on the number of threads. */
#include <math.h>

#include "parallel.h"

typedef struct {
    double at[3], speed[3], mass;
} body_t;

static int n, steps;
static body_t *bodies;
static double took;
static int right = 1;

static void create(body_t *all) {
    uint64_t seed = 3;
    for (int i = 0; i < n; i++) {
        for (int d = 0; d < 3; d++) {
            all[i].at[d] = random_unit(&seed);
            all[i].speed[d] = random_unit(&seed) - 0.5;
        }
        all[i].mass = random_unit(&seed) + 0.1;
    }
}

static void push(const body_t *all, int i, double *speed) {
    double sum[3] = {0, 0, 0};
    for (int j = 0; j < n; j++) {
        double way[3], square = 1e-3;
        for (int d = 0; d < 3; d++) {
            way[d] = all[j].at[d] - all[i].at[d];
            square += way[d] * way[d];
        }
        double pull = all[j].mass / (square * sqrt(square));
        for (int d = 0; d < 3; d++) sum[d] += pull * way[d];
    }
    for (int d = 0; d < 3; d++) speed[d] = all[i].speed[d] + 1e-3 * sum[d];
}

static void body(void) {
    size_t from = part((size_t)n, me()), to = part((size_t)n, me() + 1);
    if (me() == 0) create(bodies);
    reset();
    double start = seconds();
    double(*speeds)[3] = malloc((to - from + 1) * sizeof *speeds);
    for (int step = 0; step < steps; step++) {
        for (size_t i = from; i < to; i++) push(bodies, (int)i, speeds[i - from]);
        barrier();
        for (size_t i = from; i < to; i++)
            for (int d = 0; d < 3; d++) {
                bodies[i].speed[d] = speeds[i - from][d];
                bodies[i].at[d] += 1e-3 * bodies[i].speed[d];
            }
        barrier();
    }
    free(speeds);
    if (me() != 0) return;
    took = seconds() - start;
    body_t *own = malloc(2 * (size_t)n * sizeof *own), *next = own + n;
    create(own);
    for (int step = 0; step < steps; step++) {
        memcpy(next, own, (size_t)n * sizeof *own);
        for (int i = 0; i < n; i++) {
            push(own, i, next[i].speed);
            for (int d = 0; d < 3; d++) next[i].at[d] += 1e-3 * next[i].speed[d];
        }
        memcpy(own, next, (size_t)n * sizeof *own);
    }
    right = memcmp(own, bodies, (size_t)n * sizeof *own) == 0;
    free(own);
}

int main(int argc, char **argv) {
    n = argument(argc, argv, 2, 512);
    steps = argument(argc, argv, 3, 4);
    size_t bytes = (size_t)n * sizeof(body_t);
    parallel_init(bytes + 65536 * 4);
    bodies = shared(bytes);
    run(argument(argc, argv, 1, 1), body);
    return report("nbody", right, took);
}
