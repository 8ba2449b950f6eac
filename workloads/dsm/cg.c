/* NAS CG: the largest eigenvalue of a sparse matrix by the inverse power method, with 25 steps
 * of the conjugate gradient method in each. Vectors are written in parts and read as a whole.
 *
 * Verified with the values that the benchmark gives for classes S, W and A (RNR-94-007, section
 * 2.4; the reference implementation's `cg`). */
#include <math.h>

#include "nas.h"
#include "parallel.h"

static const struct {
    char name;
    int n, nonzero, steps;
    double shift, zeta;
} classes[] = {
    {'S', 1400, 7, 15, 10, 8.5971775078648},
    {'W', 7000, 8, 15, 12, 10.362595087124},
    {'A', 14000, 11, 15, 20, 17.130235054029},
};

static int class, n;
/* The matrix in rows, and the vectors. */
static int *starts, *columns;
static double *values, *x, *z, *p, *q, *r;
/* Each thread's contribution to a sum, in two slots that are used in turn. */
static double (*partial)[512];
static double took;
static int right = 1;

typedef struct {
    int count, *at;
    double *value;
} sparse_t;

/* A sparse vector of random numbers at random positions; position `own` has 0.5. */
static sparse_t random_vector(uint64_t *state, int own) {
    int wanted = classes[class].nonzero, power = 1;
    while (power < n) power *= 2;
    sparse_t v = {0, malloc((size_t)(wanted + 1) * sizeof(int)),
                  malloc((size_t)(wanted + 1) * sizeof(double))};
    while (v.count < wanted) {
        double value = nas_next(state);
        int at = (int)(nas_next(state) * power), known = at >= n;
        for (int i = 0; i < v.count; i++) known |= v.at[i] == at;
        if (known) continue;
        v.at[v.count] = at;
        v.value[v.count++] = value;
    }
    int place = 0;
    while (place < v.count && v.at[place] != own) place++;
    v.at[place] = own;
    v.value[place] = 0.5;
    v.count += place == v.count;
    return v;
}

/* The sum of the vectors' outer products, with weights that fall from 1 to 0.1, and with a shifted
 * diagonal. Returns the number of elements; without `fill`, only counts them. */
static size_t make_matrix(const sparse_t *vectors, int fill) {
    double *row = calloc((size_t)n, sizeof *row), ratio = pow(0.1, 1.0 / n);
    char *used = calloc((size_t)n, 1);
    int *list = malloc((size_t)n * sizeof *list);
    /* For each row, the vectors that have an element in the row. */
    int *heads = malloc((size_t)n * sizeof *heads);
    size_t links = (size_t)n * (classes[class].nonzero + 1), link = 0, all = 0;
    int *next = malloc(links * sizeof *next), *vector = malloc(links * sizeof *vector);
    double *element = malloc(links * sizeof *element), size = 1;
    for (int i = 0; i < n; i++) heads[i] = -1;
    double *sizes = malloc((size_t)n * sizeof *sizes);
    for (int i = 0; i < n; i++, size *= ratio) sizes[i] = size;
    for (int i = n - 1; i >= 0; i--)
        for (int k = 0; k < vectors[i].count; k++, link++) {
            int to = vectors[i].at[k];
            next[link] = heads[to], vector[link] = i, element[link] = vectors[i].value[k];
            heads[to] = (int)link;
        }
    for (int i = 0; i < n; i++) {
        int count = 0;
        for (int l = heads[i]; l >= 0; l = next[l]) {
            const sparse_t *v = &vectors[vector[l]];
            for (int k = 0; k < v->count; k++) {
                int j = v->at[k];
                double value = v->value[k] * sizes[vector[l]] * element[l];
                if (j == i && vector[l] == i) value += 0.1 - classes[class].shift;
                if (!used[j]) used[j] = 1, row[j] = 0, list[count++] = j;
                row[j] += value;
            }
        }
        if (fill) starts[i] = (int)all;
        for (int k = 0; k < count; k++, all++) {
            if (fill) columns[all] = list[k], values[all] = row[list[k]];
            used[list[k]] = 0;
        }
    }
    if (fill) starts[n] = (int)all;
    free(row), free(used), free(list), free(heads), free(next), free(vector), free(element);
    free(sizes);
    return all;
}

/* The sum over all threads. */
static double sum(double mine) {
    static __thread int turn;
    double all = 0;
    turn = (turn + 1) % 2;
    partial[2 * me() + turn][0] = mine;
    barrier();
    for (int i = 0; i < threads(); i++) all += partial[2 * i + turn][0];
    return all;
}

static void solve(size_t from, size_t to) {
    double rho = 0;
    for (size_t i = from; i < to; i++) {
        z[i] = 0, r[i] = p[i] = x[i];
        rho += r[i] * r[i];
    }
    rho = sum(rho);
    for (int step = 0; step < 25; step++) {
        double d = 0, old = rho;
        for (size_t i = from; i < to; i++) {
            double row = 0;
            for (int k = starts[i]; k < starts[i + 1]; k++) row += values[k] * p[columns[k]];
            q[i] = row;
            d += p[i] * row;
        }
        double alpha = old / sum(d);
        rho = 0;
        for (size_t i = from; i < to; i++) {
            z[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            rho += r[i] * r[i];
        }
        rho = sum(rho);
        for (size_t i = from; i < to; i++) p[i] = r[i] + rho / old * p[i];
        barrier();
    }
}

static void body(void) {
    size_t from = part((size_t)n, me()), to = part((size_t)n, me() + 1);
    for (size_t i = from; i < to; i++) x[i] = 1;
    reset();
    double start = seconds(), zeta = 0;
    for (int step = 0; step < classes[class].steps; step++) {
        double xz = 0, zz = 0;
        solve(from, to);
        for (size_t i = from; i < to; i++) xz += x[i] * z[i], zz += z[i] * z[i];
        xz = sum(xz), zz = sum(zz);
        zeta = classes[class].shift + 1 / xz;
        for (size_t i = from; i < to; i++) x[i] = z[i] / sqrt(zz);
        barrier();
    }
    if (me() != 0) return;
    took = seconds() - start;
    right = fabs(zeta - classes[class].zeta) < 1e-10;
}

int main(int argc, char **argv) {
    char name = argc > 2 ? argv[2][0] : 'S';
    for (class = 0; class < 2 && classes[class].name != name;) class++;
    n = classes[class].n;
    uint64_t state = 314159265;
    nas_next(&state);
    sparse_t *vectors = malloc((size_t)n * sizeof *vectors);
    for (int i = 0; i < n; i++) vectors[i] = random_vector(&state, i);
    size_t elements = make_matrix(vectors, 0);
    size_t bytes = elements * 12 + (size_t)n * 48 + 2 * 256 * sizeof *partial;
    parallel_init(bytes + 10 * 65536 * 4);
    starts = shared(((size_t)n + 1) * sizeof *starts);
    columns = shared(elements * sizeof *columns), values = shared(elements * sizeof *values);
    size_t vector = (size_t)n * sizeof(double);
    x = shared(vector), z = shared(vector), p = shared(vector), q = shared(vector);
    r = shared(vector), partial = shared(2 * 256 * sizeof *partial);
    if (first_rank()) make_matrix(vectors, 1);
    for (int i = 0; i < n; i++) free(vectors[i].at), free(vectors[i].value);
    free(vectors);
    run(argument(argc, argv, 1, 1), body);
    return report("cg", right, took);
}
