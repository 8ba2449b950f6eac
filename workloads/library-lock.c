/* Threads estimate an area by throwing darts, and draw the darts from `rand`, which takes one lock
 * inside the C library for each number.
 *
 * Fixed: each thread has a generator of its own. */
#include "workload.h"

static const long DARTS = 40000000;

static uint64_t hits[MOST_THREADS];

static int draw(unsigned *state) {
    if (fixed)
        return rand_r(state);
    return rand(); /* FINDING library-lock */
}

static void *throw_darts(void *argument) {
    long own = (intptr_t)argument;
    unsigned state = (unsigned)seed_of(own);
    for (long dart = 0; dart < scaled(DARTS); dart++) {
        double x = draw(&state) / (RAND_MAX + 1.0), y = draw(&state) / (RAND_MAX + 1.0);
        hits[own] += x * x + y * y < 1.0;
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    run_threads(throw_darts);
    double area = 0;
    for (int t = 0; t < threads; t++) area += 4.0 * (double)hits[t] / (double)scaled(DARTS) / threads;
    require(area > 3.1 && area < 3.2, "the area of a circle");
    return 0;
}
