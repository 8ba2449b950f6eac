/* Heat that spreads over a square plate: in each step, every inner point becomes the mean of its four
 * neighbours. Each thread has a block of rows. At the barrier after a step, all changes go to the homes of
 * the rows' pages. With the argument `placed`, the homes of a thread's rows are at its own rank.
 *
 * Verified against the same steps in one thread, in memory of its own. The results must agree bit for bit. */
#include "parallel.h"

static int n, steps, placed;
static double *plate[2];
static double took;
static int right = 1;

static void heat_edge(double *all) {
    for (int i = 0; i < n; i++) all[i] = 1.0;
}

static void step_rows(double *to, const double *from, int first, int end) {
    for (int row = first; row < end; row++) {
        if (row == 0 || row == n - 1) continue;
        const double *here = from + (size_t)row * (size_t)n;
        for (int at = 1; at < n - 1; at++)
            to[(size_t)row * (size_t)n + (size_t)at] =
                (here[at - 1] + here[at + 1] + here[at - n] + here[at + n]) / 4;
    }
}

static void body(void) {
    int first = (int)part((size_t)n, me()), end = (int)part((size_t)n, me() + 1);
    size_t row = (size_t)n * sizeof(double);
    for (int i = 0; placed && i < 2; i++)
        place(plate[i] + (size_t)first * (size_t)n, (size_t)(end - first) * row, me());
    barrier();
    if (me() == 0) heat_edge(plate[0]), heat_edge(plate[1]);
    reset();
    double start = seconds();
    for (int step = 0; step < steps; step++) {
        step_rows(plate[(step + 1) % 2], plate[step % 2], first, end);
        barrier();
    }
    if (me() != 0) return;
    took = seconds() - start;
    double *own[2] = {calloc((size_t)n, row), calloc((size_t)n, row)};
    heat_edge(own[0]), heat_edge(own[1]);
    for (int step = 0; step < steps; step++) step_rows(own[(step + 1) % 2], own[step % 2], 0, n);
    right = memcmp(own[steps % 2], plate[steps % 2], (size_t)n * row) == 0;
    free(own[0]), free(own[1]);
}

int main(int argc, char **argv) {
    n = argument(argc, argv, 2, 512);
    steps = argument(argc, argv, 3, 20);
    placed = argc > 4 && strcmp(argv[4], "placed") == 0;
    size_t bytes = (size_t)n * (size_t)n * sizeof(double);
    parallel_init(2 * bytes + 65536 * 4);
    plate[0] = shared(bytes);
    plate[1] = shared(bytes);
    run(argument(argc, argv, 1, 1), body);
    return report("heat", right, took);
}
