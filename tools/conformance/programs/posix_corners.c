// Calls that are used rarely, with the results that POSIX and the C library define: deadlines
// before 1970, two mutexes for one condition variable, locks that prefer writers, and all keys of
// thread-specific data.
#include "truth.h"
#include <threads.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, monotonic;
static const struct timespec before_1970 = {-2, 0}, just_before = {-1, 999999999},
                             no_time = {-2, 1000000000};

// --- deadlines -------------------------------------------------------------------------------

static void *ask(void *past) {
    const struct timespec *t = past;
    say("mutex %s %s", error_name(pthread_mutex_timedlock(&held, t)),
        error_name(pthread_mutex_clocklock(&held, CLOCK_MONOTONIC, t)));
    say("read %s %s", error_name(pthread_rwlock_timedrdlock(&written, t)),
        error_name(pthread_rwlock_clockrdlock(&written, CLOCK_MONOTONIC, t)));
    say("write %s %s", error_name(pthread_rwlock_timedwrlock(&written, t)),
        error_name(pthread_rwlock_clockwrlock(&written, CLOCK_MONOTONIC, t)));
    pthread_mutex_lock(&mutex);
    say("wait %s", error_name(pthread_cond_timedwait(&cond, &mutex, t)));
    say("wait %s", error_name(pthread_cond_timedwait(&monotonic, &mutex, t)));
    say("wait %s", error_name(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, t)));
    say("wait %s", error_name(pthread_cond_clockwait(&cond, &mutex, CLOCK_REALTIME, t)));
    pthread_mutex_unlock(&mutex);
    mtx_t c11;
    cnd_t c11_cond;
    REQUIRE(mtx_init(&c11, mtx_timed) == thrd_success && cnd_init(&c11_cond) == thrd_success);
    mtx_lock(&c11);
    say("C11 wait %d", cnd_timedwait(&c11_cond, &c11, t));
    mtx_unlock(&c11);
    return NULL;
}

static void join(void *(*what)(void *), const void *argument) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, what, (void *)argument) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

static void deadlines(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&monotonic, &attributes);
    pthread_mutex_lock(&held);
    pthread_rwlock_wrlock(&written);
    join(ask, &before_1970);
    join(ask, &just_before);
    join(ask, &no_time);
    pthread_rwlock_unlock(&written);
    pthread_mutex_unlock(&held);
}

// --- two mutexes for one condition variable ----------------------------------------------------

static pthread_mutex_t others[3];
static int waits, told;

static void *wait_with(void *other) {
    REQUIRE(pthread_mutex_lock(other) == 0);
    __atomic_add_fetch(&waits, 1, __ATOMIC_SEQ_CST);
    int error = 0;
    while (!__atomic_load_n(&told, __ATOMIC_SEQ_CST) && error == 0) {
        // The notification is sent without the mutex, so it may come before the wait.
        struct timespec soon = after(CLOCK_REALTIME, 20);
        error = pthread_cond_timedwait(&cond, other, &soon);
        if (error == ETIMEDOUT)
            error = 0;
    }
    REQUIRE(pthread_mutex_unlock(other) == 0);
    return (void *)error_name(error);
}

static void two_mutexes(int shared, int robust) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutex_init(&others[0], &attributes);
    pthread_mutexattr_setpshared(&attributes, shared);
    pthread_mutexattr_setrobust(&attributes, robust);
    pthread_mutex_init(&others[1], &attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&others[2], &attributes);
    waits = told = 0;
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, wait_with, &others[i]) == 0);
        while (__atomic_load_n(&waits, __ATOMIC_SEQ_CST) != i + 1)
            usleep(100);
        usleep(2000);
    }
    __atomic_store_n(&told, 1, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast(&cond);
    for (int i = 0; i < 3; i++) {
        void *error;
        pthread_join(threads[i], &error);
        say("mutex %d of several: %s", i, (char *)error);
        say("destroyed %s", error_name(pthread_mutex_destroy(&others[i])));
    }
}

// --- writers that are preferred --------------------------------------------------------------

static pthread_rwlock_t preferring = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void *write_soon(void *timed) {
    struct timespec soon = after(CLOCK_REALTIME, 300);
    int error = timed ? pthread_rwlock_timedwrlock(&preferring, &soon)
                      : pthread_rwlock_wrlock(&preferring);
    if (error == 0)
        pthread_rwlock_unlock(&preferring);
    return (void *)error_name(error);
}

static void *read_after(void *unused) {
    return pthread_rwlock_rdlock(&preferring) == 0 && pthread_rwlock_unlock(&preferring) == 0
               ? unused
               : NULL;
}

// A writer that waits keeps new readers out. They are let in when it gives up.
static void preferred(int timed) {
    pthread_t writer, reader;
    void *error;
    pthread_rwlock_rdlock(&preferring);
    REQUIRE(pthread_create(&writer, NULL, write_soon, timed ? &timed : NULL) == 0);
    int refused = 0;
    for (struct timespec end = after(CLOCK_MONOTONIC, 10000), now = {0}; now.tv_sec < end.tv_sec;) {
        refused = pthread_rwlock_tryrdlock(&preferring);
        if (refused)
            break;
        pthread_rwlock_unlock(&preferring);
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    say("a reader beside a waiting writer: %s", error_name(refused));
    REQUIRE(pthread_create(&reader, NULL, read_after, &preferring) == 0);
    if (!timed)
        pthread_rwlock_unlock(&preferring);
    pthread_join(writer, &error);
    say("the writer: %s", (char *)error);
    pthread_join(reader, &error);
    say("the reader: %d", error != NULL);
    if (timed)
        pthread_rwlock_unlock(&preferring);
}

// --- keys --------------------------------------------------------------------------------------

static int destroyed;

static void count(void *value) {
    __atomic_add_fetch(&destroyed, value != NULL, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static pthread_key_t keys[PTHREAD_KEYS_MAX + 1];

static void *set_all(void *made) {
    // The thread holds several locks at the same time, because each may need memory that the thread
    // keeps.
    pthread_mutex_lock(&mutex);
    pthread_rwlock_rdlock(&written);
    for (int i = 0; i < *(int *)made; i++)
        REQUIRE(pthread_getspecific(keys[i]) == NULL &&
                pthread_setspecific(keys[i], &destroyed) == 0);
    pthread_rwlock_unlock(&written);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void all_keys(int c11) {
    int made = 0, error;
    while ((error = c11 ? tss_create(&keys[made], count) : pthread_key_create(&keys[made], count)) ==
           0)
        made++;
    say("%d keys, then %d", made, error);
    destroyed = 0;
    join(set_all, &made);
    say("%d destroyed", destroyed);
    for (int i = 0; i < made; i++)
        REQUIRE(pthread_key_delete(keys[i]) == 0);
}

int main(void) {
    // A key that was not created is invalid. A static variable that was not set contains key 0.
    say("key 0: %s %d", error_name(pthread_setspecific(0, &mutex)), tss_set(0, &mutex));
    deadlines();
    two_mutexes(PTHREAD_PROCESS_PRIVATE, PTHREAD_MUTEX_STALLED);
    two_mutexes(PTHREAD_PROCESS_SHARED, PTHREAD_MUTEX_STALLED);
    two_mutexes(PTHREAD_PROCESS_PRIVATE, PTHREAD_MUTEX_ROBUST);
    preferred(1);
    preferred(0);
    preferred(1);
    for (int i = 0; i < 2; i++) {
        all_keys(0);
        all_keys(1);
    }
    return 0;
}
