// The errors that POSIX defines, for each call that can return them, with each type of mutex. What
// this program requires is in the manual pages. What it prints depends on the C library.
#include "truth.h"
#include <stdbool.h>

static const struct {
    const char *name;
    int type;
} types[] = {
    {"normal", PTHREAD_MUTEX_NORMAL},
    {"recursive", PTHREAD_MUTEX_RECURSIVE},
    {"errorcheck", PTHREAD_MUTEX_ERRORCHECK},
    {"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP},
};

static pthread_mutex_t mutex;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static const struct timespec past = {1, 0}, negative = {1, -1}, large = {1, 1000000000};

// Runs a call in a separate thread, which holds no lock.
struct asked {
    int (*call)(void);
    int result;
};

static void *ask(void *argument) {
    struct asked *asked = argument;
    asked->result = asked->call();
    return NULL;
}

static int elsewhere(int (*call)(void)) {
    struct asked asked = {call, -1};
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, ask, &asked) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    return asked.result;
}

#define CALL(name, call) \
    static int name(void) { return call; }
CALL(try_lock, pthread_mutex_trylock(&mutex))
CALL(lock_past, pthread_mutex_timedlock(&mutex, &past))
CALL(lock_past_monotonic, pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past))
CALL(lock_negative, pthread_mutex_timedlock(&mutex, &negative))
CALL(lock_large, pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &large))
CALL(lock_odd_clock, pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &past))
CALL(unlock, pthread_mutex_unlock(&mutex))
CALL(wait_past, pthread_cond_timedwait(&cond, &mutex, &past))
CALL(try_read, pthread_rwlock_tryrdlock(&rwlock))
CALL(try_write, pthread_rwlock_trywrlock(&rwlock))
CALL(read_past, pthread_rwlock_timedrdlock(&rwlock, &past))
CALL(write_past, pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &past))
CALL(read_negative, pthread_rwlock_timedrdlock(&rwlock, &negative))
CALL(write_large, pthread_rwlock_timedwrlock(&rwlock, &large))
CALL(write_odd_clock, pthread_rwlock_clockwrlock(&rwlock, CLOCK_PROCESS_CPUTIME_ID, &past))
CALL(try_spin, pthread_spin_trylock(&spin))

static void make(int type, int robust) {
    pthread_mutexattr_t attributes;
    REQUIRE(pthread_mutexattr_init(&attributes) == 0);
    REQUIRE(pthread_mutexattr_settype(&attributes, type) == 0);
    if (robust) REQUIRE(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0);
    REQUIRE(pthread_mutex_init(&mutex, &attributes) == 0);
}

static void mutexes(const char *name, int type) {
    bool recursive = type == PTHREAD_MUTEX_RECURSIVE, checks = type == PTHREAD_MUTEX_ERRORCHECK;
    make(type, 0);
    // A free mutex is acquired with any deadline, but not with an unknown clock.
    REQUIRE(lock_past() == 0 && unlock() == 0);
    say("%s free, no time: %d %d", name, lock_odd_clock(), lock_negative());
    if (try_lock() == 0) unlock();
    make(type, 0);

    REQUIRE(pthread_mutex_lock(&mutex) == 0);
    REQUIRE(elsewhere(try_lock) == EBUSY);
    REQUIRE(elsewhere(lock_past) == ETIMEDOUT && elsewhere(lock_past_monotonic) == ETIMEDOUT);
    REQUIRE(elsewhere(lock_negative) == EINVAL && elsewhere(lock_large) == EINVAL);
    REQUIRE(elsewhere(lock_odd_clock) == EINVAL);
    REQUIRE(try_lock() == (recursive ? 0 : EBUSY));
    if (recursive) {
        REQUIRE(pthread_mutex_lock(&mutex) == 0 && lock_past() == 0);
        REQUIRE(unlock() == 0 && unlock() == 0 && unlock() == 0);
    } else {
        REQUIRE(lock_past() == (checks ? EDEADLK : ETIMEDOUT));
    }
    if (checks) REQUIRE(pthread_mutex_lock(&mutex) == EDEADLK);
    if (checks || recursive) {
        REQUIRE(elsewhere(unlock) == EPERM);
        REQUIRE(elsewhere(wait_past) == EPERM);
    }
    REQUIRE(pthread_mutex_destroy(&mutex) == EBUSY);

    // After each wait, the thread must hold the mutex again.
    REQUIRE(wait_past() == ETIMEDOUT && elsewhere(try_lock) == EBUSY);
    REQUIRE(pthread_cond_timedwait(&cond, &mutex, &negative) == EINVAL);
    REQUIRE(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &large) == EINVAL);
    REQUIRE(pthread_cond_clockwait(&cond, &mutex, CLOCK_PROCESS_CPUTIME_ID, &past) == EINVAL);
    REQUIRE(elsewhere(try_lock) == EBUSY);

    REQUIRE(unlock() == 0);
    if (checks || recursive) REQUIRE(unlock() == EPERM && wait_past() == EPERM);
    REQUIRE(pthread_mutex_destroy(&mutex) == 0);
    say("%s done", name);
}

static void *leave_it_held(void *argument) {
    REQUIRE(pthread_mutex_lock(&mutex) == 0);
    return argument;
}

static void robust(void) {
    pthread_t thread;
    for (int mended = 1; mended >= 0; mended--) {
        make(PTHREAD_MUTEX_ERRORCHECK, 1);
        REQUIRE(pthread_create(&thread, NULL, leave_it_held, NULL) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
        REQUIRE(pthread_mutex_lock(&mutex) == EOWNERDEAD);
        if (mended) REQUIRE(pthread_mutex_consistent(&mutex) == 0);
        REQUIRE(unlock() == 0);
        REQUIRE(try_lock() == (mended ? 0 : ENOTRECOVERABLE));
        if (mended) REQUIRE(unlock() == 0);
        REQUIRE(pthread_mutex_destroy(&mutex) == 0);
    }
}

static void rwlocks(void) {
    REQUIRE(pthread_rwlock_rdlock(&rwlock) == 0);
    REQUIRE(elsewhere(try_write) == EBUSY && elsewhere(write_past) == ETIMEDOUT);
    REQUIRE(elsewhere(write_large) == EINVAL && elsewhere(write_odd_clock) == EINVAL);
    REQUIRE(try_read() == 0 && pthread_rwlock_unlock(&rwlock) == 0);
    REQUIRE(pthread_rwlock_unlock(&rwlock) == 0);
    REQUIRE(pthread_rwlock_wrlock(&rwlock) == 0);
    REQUIRE(pthread_rwlock_rdlock(&rwlock) == EDEADLK && pthread_rwlock_wrlock(&rwlock) == EDEADLK);
    REQUIRE(try_read() == EBUSY && try_write() == EBUSY);
    REQUIRE(elsewhere(try_read) == EBUSY && elsewhere(try_write) == EBUSY);
    REQUIRE(elsewhere(read_past) == ETIMEDOUT && elsewhere(write_past) == ETIMEDOUT);
    REQUIRE(elsewhere(read_negative) == EINVAL && elsewhere(write_large) == EINVAL);
    REQUIRE(pthread_rwlock_unlock(&rwlock) == 0);
    say("free rwlock, no time: %d %d", read_negative(), write_odd_clock());
    REQUIRE(pthread_rwlock_destroy(&rwlock) == 0);
}

int main(void) {
    alarm(60);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) mutexes(types[i].name, types[i].type);
    robust();
    rwlocks();
    REQUIRE(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0 && pthread_spin_lock(&spin) == 0);
    REQUIRE(elsewhere(try_spin) == EBUSY);
    REQUIRE(pthread_spin_unlock(&spin) == 0 && try_spin() == 0 && pthread_spin_unlock(&spin) == 0);
    say("all errors are POSIX'");
    return 0;
}
