// Acquires objects that can't be replaced, with every function that can do so, and prints how
// often. The number includes calls that are refused and calls with an invalid clock, but not those
// of the spinlock.
#include "truth.h"

static long calls;

static void mutex(int type, int protocol, int robust, int shared) {
    pthread_mutexattr_t attributes;
    pthread_mutex_t m;
    pthread_mutexattr_init(&attributes);
    REQUIRE(pthread_mutexattr_settype(&attributes, type) == 0);
    REQUIRE(pthread_mutexattr_setprotocol(&attributes, protocol) == 0);
    REQUIRE(pthread_mutexattr_setrobust(&attributes, robust) == 0);
    REQUIRE(pthread_mutexattr_setpshared(&attributes, shared) == 0);
    REQUIRE(pthread_mutex_init(&m, &attributes) == 0);
    struct timespec past = {0, 0};
    REQUIRE(pthread_mutex_lock(&m) == 0);
    REQUIRE(pthread_mutex_trylock(&m) != 0);
    REQUIRE(pthread_mutex_unlock(&m) == 0);
    REQUIRE(pthread_mutex_timedlock(&m, &past) == 0);
    REQUIRE(pthread_mutex_unlock(&m) == 0);
    REQUIRE(pthread_mutex_clocklock(&m, CLOCK_PROCESS_CPUTIME_ID, &past) == EINVAL);
    REQUIRE(pthread_mutex_destroy(&m) == 0);
    calls += 4;
}

static void rwlock(void) {
    pthread_rwlockattr_t attributes;
    pthread_rwlock_t l;
    pthread_rwlockattr_init(&attributes);
    REQUIRE(pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
    REQUIRE(pthread_rwlock_init(&l, &attributes) == 0);
    struct timespec past = {0, 0};
    REQUIRE(pthread_rwlock_rdlock(&l) == 0);
    REQUIRE(pthread_rwlock_tryrdlock(&l) == 0);
    REQUIRE(pthread_rwlock_trywrlock(&l) == EBUSY);
    REQUIRE(pthread_rwlock_timedwrlock(&l, &past) == ETIMEDOUT);
    REQUIRE(pthread_rwlock_clockrdlock(&l, CLOCK_PROCESS_CPUTIME_ID, &past) == EINVAL);
    REQUIRE(pthread_rwlock_unlock(&l) == 0);
    REQUIRE(pthread_rwlock_unlock(&l) == 0);
    REQUIRE(pthread_rwlock_wrlock(&l) == 0);
    REQUIRE(pthread_rwlock_unlock(&l) == 0);
    REQUIRE(pthread_rwlock_destroy(&l) == 0);
    calls += 6;
}

int main(void) {
    mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 0, PTHREAD_PROCESS_SHARED);
    mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0, PTHREAD_PROCESS_PRIVATE);
    mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 1, PTHREAD_PROCESS_PRIVATE);
    mutex(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, 1, PTHREAD_PROCESS_SHARED);
    rwlock();
    pthread_spinlock_t spin;
    REQUIRE(pthread_spin_init(&spin, PTHREAD_PROCESS_SHARED) == 0);
    REQUIRE(pthread_spin_lock(&spin) == 0 && pthread_spin_unlock(&spin) == 0);
    say("@calls %ld", calls);
    return 0;
}
