/* Prices of European options by Black and Scholes's formula, repeatedly, like PARSEC's program.
 *
 * Verified with the parity of puts and calls, C - P = S - K exp(-r t), which the formula for either
 * of them does not use. */
#include <math.h>

#include "parallel.h"

typedef struct {
    double spot, strike, rate, volatility, time;
} option_t;

static int n, rounds;
static option_t *options;
static double *calls, *reverse;
static double took;
static int right = 1;

static double normal(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }

static double price(const option_t *o, int is_put) {
    double deviation = o->volatility * sqrt(o->time);
    double d1 = (log(o->spot / o->strike) +
                 (o->rate + 0.5 * o->volatility * o->volatility) * o->time) / deviation;
    double d2 = d1 - deviation, later = o->strike * exp(-o->rate * o->time);
    if (is_put) return later * normal(-d2) - o->spot * normal(-d1);
    return o->spot * normal(d1) - later * normal(d2);
}

static void body(void) {
    size_t from = part((size_t)n, me()), to = part((size_t)n, me() + 1);
    uint64_t seed = 11;
    for (int i = 0; i < n && me() == 0; i++) {
        option_t *o = &options[i];
        o->spot = 20 + 80 * random_unit(&seed);
        o->strike = 20 + 80 * random_unit(&seed);
        o->rate = 0.01 + 0.09 * random_unit(&seed);
        o->volatility = 0.05 + 0.5 * random_unit(&seed);
        o->time = 0.1 + 2 * random_unit(&seed);
    }
    reset();
    double start = seconds();
    for (int round = 0; round < rounds; round++)
        for (size_t i = from; i < to; i++) {
            calls[i] = price(&options[i], 0);
            reverse[i] = price(&options[i], 1);
        }
    barrier();
    if (me() != 0) return;
    took = seconds() - start;
    for (int i = 0; i < n; i++) {
        const option_t *o = &options[i];
        double parity = o->spot - o->strike * exp(-o->rate * o->time);
        if (!(fabs(calls[i] - reverse[i] - parity) < 1e-9) || calls[i] < 0) right = 0;
    }
}

int main(int argc, char **argv) {
    n = argument(argc, argv, 2, 10000);
    rounds = argument(argc, argv, 3, 5);
    size_t bytes = (size_t)n * (sizeof(option_t) + 2 * sizeof(double));
    parallel_init(bytes + 3 * 65536 * 4);
    options = shared((size_t)n * sizeof *options);
    calls = shared((size_t)n * sizeof *calls), reverse = shared((size_t)n * sizeof *reverse);
    run(argument(argc, argv, 1, 1), body);
    return report("blackscholes", right, took);
}
