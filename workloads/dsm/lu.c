/* LU factorisation without pivoting, of a matrix with a dominant diagonal, in blocks that are
 * stored separately; blocks belong to threads in turn, as in SPLASH-2's program.
 *
 * Verified by L (U v) = A v for a random v. */
#include <math.h>

#include "parallel.h"

#define B 32

static int n, blocks;
static double *m;
static double took;
static int right = 1;

static double *block(int i, int j) { return &m[((size_t)i * blocks + j) * B * B]; }
static int owner(int i, int j) { return (i * 7 + j) % threads(); }

static double element(int i, int j) {
    uint64_t seed = (uint64_t)i * 1000003u + (uint64_t)j;
    return random_unit(&seed) + (i == j ? n : 0);
}

static void factor(double *d) {
    for (int k = 0; k < B; k++)
        for (int i = k + 1; i < B; i++) {
            double f = d[i * B + k] /= d[k * B + k];
            for (int j = k + 1; j < B; j++) d[i * B + j] -= f * d[k * B + j];
        }
}

/* Replaces X by L^-1 X, with the L of a factored block. */
static void solve_lower(const double *d, double *x) {
    for (int k = 0; k < B; k++)
        for (int i = k + 1; i < B; i++)
            for (int j = 0; j < B; j++) x[i * B + j] -= d[i * B + k] * x[k * B + j];
}

/* Replaces X by X U^-1, with the U of a factored block. */
static void solve_upper(const double *d, double *x) {
    for (int i = 0; i < B; i++)
        for (int k = 0; k < B; k++) {
            double f = x[i * B + k] /= d[k * B + k];
            for (int j = k + 1; j < B; j++) x[i * B + j] -= f * d[k * B + j];
        }
}

static void subtract(const double *l, const double *u, double *x) {
    for (int i = 0; i < B; i++)
        for (int k = 0; k < B; k++) {
            double f = l[i * B + k];
            for (int j = 0; j < B; j++) x[i * B + j] -= f * u[k * B + j];
        }
}

static double factored(int i, int j) { return block(i / B, j / B)[i % B * B + j % B]; }

static void verify(void) {
    double *v = malloc(2 * (size_t)n * sizeof(double)), *uv = v + n, worst = 0;
    uint64_t seed = 5;
    for (int i = 0; i < n; i++) v[i] = random_unit(&seed) - 0.5;
    for (int i = 0; i < n; i++) {
        uv[i] = 0;
        for (int j = i; j < n; j++) uv[i] += factored(i, j) * v[j];
    }
    for (int i = 0; i < n; i++) {
        double luv = uv[i], av = 0;
        for (int j = 0; j < i; j++) luv += factored(i, j) * uv[j];
        for (int j = 0; j < n; j++) av += element(i, j) * v[j];
        worst = fmax(worst, fabs(luv - av));
    }
    right = worst < 1e-9 * n;
    free(v);
}

static void body(void) {
    for (int i = 0; i < blocks; i++)
        for (int j = 0; j < blocks; j++)
            for (int e = 0; e < B * B && owner(i, j) == me(); e++)
                block(i, j)[e] = element(i * B + e / B, j * B + e % B);
    reset();
    double start = seconds();
    for (int k = 0; k < blocks; k++) {
        if (owner(k, k) == me()) factor(block(k, k));
        barrier();
        for (int i = k + 1; i < blocks; i++) {
            if (owner(i, k) == me()) solve_upper(block(k, k), block(i, k));
            if (owner(k, i) == me()) solve_lower(block(k, k), block(k, i));
        }
        barrier();
        for (int i = k + 1; i < blocks; i++)
            for (int j = k + 1; j < blocks; j++)
                if (owner(i, j) == me()) subtract(block(i, k), block(k, j), block(i, j));
    }
    barrier();
    if (me() != 0) return;
    took = seconds() - start;
    verify();
}

int main(int argc, char **argv) {
    blocks = (argument(argc, argv, 2, 256) + B - 1) / B;
    n = blocks * B;
    size_t bytes = (size_t)n * n * sizeof(double);
    parallel_init(bytes + 65536 * 4);
    m = shared(bytes);
    run(argument(argc, argv, 1, 1), body);
    return report("lu", right, took);
}
