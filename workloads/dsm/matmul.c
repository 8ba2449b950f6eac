/* Matrix multiplication: each thread computes a band of rows of the product.
 *
 * Verified by Freivalds' check: C v = A (B v), exactly, since all elements are small integers. */
#include "parallel.h"

static int n;
static double *a, *b, *c;
static double took;
static int right = 1;

static void multiply(const double *m, const double *v, double *into) {
    for (int i = 0; i < n; i++) {
        into[i] = 0;
        for (int k = 0; k < n; k++) into[i] += m[(size_t)i * n + k] * v[k];
    }
}

static void body(void) {
    size_t from = part((size_t)n, me()), to = part((size_t)n, me() + 1);
    uint64_t seed = 1 + (uint64_t)me();
    for (size_t i = from * n; i < to * n; i++) {
        a[i] = (double)(next_random(&seed) % 7);
        b[i] = (double)(next_random(&seed) % 7);
    }
    reset();
    double start = seconds();
    for (size_t i = from; i < to; i++) {
        double *row = &c[i * n];
        for (int k = 0; k < n; k++) {
            double factor = a[i * n + k];
            for (int j = 0; j < n; j++) row[j] += factor * b[(size_t)k * n + j];
        }
    }
    barrier();
    if (me() != 0) return;
    took = seconds() - start;
    double *v = malloc(4 * (size_t)n * sizeof(double)), *bv = v + n, *abv = bv + n, *cv = abv + n;
    seed = 99;
    for (int i = 0; i < n; i++) v[i] = (double)(next_random(&seed) % 3);
    multiply(b, v, bv);
    multiply(a, bv, abv);
    multiply(c, v, cv);
    right = memcmp(abv, cv, (size_t)n * sizeof(double)) == 0;
    free(v);
}

int main(int argc, char **argv) {
    n = argument(argc, argv, 2, 256);
    size_t bytes = (size_t)n * n * sizeof(double);
    parallel_init(3 * bytes + 3 * 65536 * 4);
    a = shared(bytes), b = shared(bytes), c = shared(bytes);
    run(argument(argc, argv, 1, 1), body);
    return report("matmul", right, took);
}
