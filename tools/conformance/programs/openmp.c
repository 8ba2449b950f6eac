// OpenMP as GCC compiles it: critical sections, atomic operations that need a lock, barriers,
// ordered regions, and the locks of OpenMP's library. The object code runs both with GCC's libgomp
// and with LLVM's libomp.
#include "truth.h"
#include <omp.h>

enum { THREADS = 4, ROUNDS = 2000 };


static omp_lock_t lock;
static omp_nest_lock_t nested;
static unsigned long unnamed_count, named_count, locked_count, nested_count, tried, refused;

static void constructs(void) {
    long double sum = 0;
    int order = 0;
#pragma omp parallel num_threads(THREADS)
    {
        for (int i = 0; i < ROUNDS; i++) {
#pragma omp critical
            unnamed_count++;
#pragma omp critical(by_name)
            named_count++;
// The number is too wide for an atomic instruction, so the library uses a lock.
#pragma omp atomic
            sum += 1;
        }
        for (int i = 0; i < 20; i++) {
#pragma omp barrier
        }
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 40; i++) {
#pragma omp ordered
            REQUIRE(order++ == i);
        }
    }
    say("sum %.0Lf, order %d, critical %lu %lu", sum, order, unnamed_count, named_count);
    // Both kinds of critical sections of libgomp are counted as one operation. The addresses of
    // their locks are not known to the program.
    expect_all("OmpCritical", 2 * THREADS * ROUNDS);
    expect_all("OmpAtomic", THREADS * ROUNDS);
    say("@%d 0 OmpBarrier * %d+", (int)getpid(), THREADS * 20);
}

static void locks(void) {
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
    // This is not one of OpenMP's reductions, because GCC may compile those to an atomic region.
    unsigned long done = THREADS * ROUNDS, nests = 2 * done;
#pragma omp parallel num_threads(THREADS)
    for (int i = 0; i < ROUNDS; i++) {
        omp_set_lock(&lock);
        locked_count++;
        omp_unset_lock(&lock);
        if (omp_test_lock(&lock)) {
            __atomic_fetch_add(&tried, 1, __ATOMIC_RELAXED);
            omp_unset_lock(&lock);
        } else {
            __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
        }
        omp_set_nest_lock(&nested);
        omp_set_nest_lock(&nested);
        nested_count++;
        REQUIRE(omp_test_nest_lock(&nested) == 3);
        for (int n = 0; n < 3; n++)
            omp_unset_nest_lock(&nested);
    }
    say("locked %lu %lu", locked_count, nested_count);
    expect("OmpLock", &lock, done);
    expect("OmpTestLock", &lock, tried);
    expect("OmpTestLock.refused", &lock, refused);
    expect("OmpLock", &nested, nests);
    expect("OmpTestLock", &nested, done);
}

int main(void) {
    constructs();
    locks();
    return 0;
}
