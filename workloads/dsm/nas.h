/* The random numbers of the NAS benchmarks: x' = a x mod 2^46, as fractions of 2^46.
 *
 * Source: Bailey et al., "The NAS Parallel Benchmarks" (RNR-94-007), section 2.3. */
#ifndef NAS_H
#define NAS_H

#include <stdint.h>

#define NAS_A 1220703125u /* 5^13 */

static uint64_t nas_times(uint64_t a, uint64_t x) {
    return (uint64_t)((unsigned __int128)a * x) & ((1ull << 46) - 1);
}

static double nas_next(uint64_t *x) {
    *x = nas_times(NAS_A, *x);
    return (double)*x * 0x1p-46;
}

/* The state after `count` more numbers. */
__attribute__((unused)) static uint64_t nas_skip(uint64_t x, uint64_t count) {
    for (uint64_t power = NAS_A; count; count >>= 1, power = nas_times(power, power))
        if (count & 1) x = nas_times(power, x);
    return x;
}

#endif
