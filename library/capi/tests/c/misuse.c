/* Each mistake has its error number, with each lock, and breaks nothing. */

#include <pthread.h>
#include <unistd.h>

#include "kinds.h"

/* A call that another thread makes. */
struct call {
    int (*function)(void *);
    void *lock;
    int outcome;
};

static void *make_call(void *data) {
    struct call *call = data;
    call->outcome = call->function(call->lock);
    return NULL;
}

static int elsewhere(int (*function)(void *), void *lock) {
    struct call call = {function, lock, -1};
    pthread_t thread;
    EXPECT(0, pthread_create(&thread, NULL, make_call, &call));
    EXPECT(0, pthread_join(thread, NULL));
    return call.outcome;
}

static int timed_out(void *lock) {
    const struct timespec soon = syncline_deadline(2000000);
    int outcome = now->timedlock(lock, &soon);
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    EXPECT(1, time.tv_sec > soon.tv_sec ||
                  (time.tv_sec == soon.tv_sec && time.tv_nsec >= soon.tv_nsec));
    return outcome;
}

static int read_timed_out(void *lock) {
    const struct timespec soon = syncline_deadline(2000000);
    return now->timedrdlock(lock, &soon);
}

static void test_holding(void *lock) {
    const struct timespec soon = syncline_deadline(1000000);
    const struct timespec wrong = {0, 1000000000};
    syncline_cond_t cond = SYNCLINE_COND_INIT;
    EXPECT(EPERM, now->unlock(lock));
    EXPECT(EPERM, now->wait(lock, &cond));
    EXPECT(EPERM, now->timedwait(lock, &cond, &soon));

    EXPECT(0, now->lock(lock));
    EXPECT(EDEADLK, now->lock(lock));
    EXPECT(EBUSY, now->destroy(lock));
    EXPECT(EPERM, elsewhere(now->unlock, lock));
    EXPECT(EBUSY, elsewhere(now->destroy, lock));
    if (now->trylock) {
        EXPECT(EBUSY, now->trylock(lock));
        EXPECT(EBUSY, elsewhere(now->trylock, lock));
    }
    if (now->timedlock) {
        EXPECT(EDEADLK, now->timedlock(lock, &soon));
        EXPECT(ETIMEDOUT, elsewhere(timed_out, lock));
        EXPECT(EINVAL, now->timedlock(lock, &wrong));
        EXPECT(EINVAL, now->timedlock(lock, NULL));
    }
    EXPECT(ETIMEDOUT, now->timedwait(lock, &cond, &soon));
    EXPECT(EINVAL, now->timedwait(lock, &cond, &wrong));
    EXPECT(EINVAL, now->wait(lock, NULL));
    EXPECT(0, now->unlock(lock));
    EXPECT(EPERM, now->unlock(lock));
    EXPECT(0, syncline_cond_destroy(&cond));
}

static void test_sharing(void *lock) {
    const struct timespec soon = syncline_deadline(1000000);
    syncline_cond_t cond = SYNCLINE_COND_INIT;
    EXPECT(0, now->rdlock(lock));
    EXPECT(EDEADLK, now->rdlock(lock));
    EXPECT(EDEADLK, now->lock(lock));
    EXPECT(EPERM, now->wait(lock, &cond));
    EXPECT(EBUSY, now->destroy(lock));
    EXPECT(EPERM, elsewhere(now->unlock, lock));
    EXPECT(EBUSY, elsewhere(now->destroy, lock));
    if (now->tryrdlock) {
        EXPECT(EBUSY, now->tryrdlock(lock));
        EXPECT(EBUSY, now->trylock(lock));
        EXPECT(EBUSY, elsewhere(now->trylock, lock));
    }
    if (now->timedrdlock) {
        EXPECT(EDEADLK, now->timedrdlock(lock, &soon));
        EXPECT(EDEADLK, now->timedlock(lock, &soon));
        EXPECT(ETIMEDOUT, elsewhere(timed_out, lock));
    }
    EXPECT(0, now->unlock(lock));
    EXPECT(EPERM, now->unlock(lock));

    EXPECT(0, now->lock(lock));
    EXPECT(EDEADLK, now->rdlock(lock));
    if (now->tryrdlock) EXPECT(EBUSY, elsewhere(now->tryrdlock, lock));
    if (now->timedrdlock) EXPECT(ETIMEDOUT, elsewhere(read_timed_out, lock));
    EXPECT(0, now->unlock(lock));
}

static void test_pointers(void *lock) {
    EXPECT(EINVAL, now->lock(NULL));
    EXPECT(EINVAL, now->unlock(NULL));
    EXPECT(EINVAL, now->destroy(NULL));
    EXPECT(EINVAL, now->lock((char *)lock + 1));
}

/* Copies of a lock chosen by name, and memory that is not a lock, are detected. */
static void test_named(void *lock) {
    const struct timespec soon = syncline_deadline(1000000);
    int reads = now->rdlock != NULL;
    if (!now->trylock) EXPECT(ENOTSUP, reads ? rwlock_trywrlock(lock) : lock_trylock(lock));
    if (!now->timedlock)
        EXPECT(ENOTSUP, reads ? rwlock_timedwrlock(lock, &soon) : lock_timedlock(lock, &soon));

    unsigned char copy[64];
    memcpy(copy, lock, now->size);
    void *other = aligned_alloc(64, 64);
    memcpy(other, copy, now->size);
    EXPECT(EINVAL, now->lock(other));
    EXPECT(EINVAL, now->destroy(other));
    memset(other, 0xab, 64);
    EXPECT(EINVAL, now->lock(other));
    memset(other, 0, 64);
    EXPECT(EINVAL, now->lock(other));
    EXPECT(EINVAL, now->init(other, "no-such-lock"));
    EXPECT(EINVAL, now->init(other, NULL));
    EXPECT(EINVAL, now->unlock(other));
    free(other);
}

static void *sleep_in(void *lock) {
    static syncline_cond_t cond = SYNCLINE_COND_INIT;
    if (lock) {
        EXPECT(0, now->lock(lock));
        EXPECT(0, now->wait(lock, &cond));
        EXPECT(0, now->unlock(lock));
    }
    return &cond;
}

/* Neither the lock nor the condition can be destroyed while a thread waits. */
static void test_waited_for(void *lock) {
    syncline_cond_t *cond = sleep_in(NULL);
    pthread_t sleeper;
    EXPECT(0, pthread_create(&sleeper, NULL, sleep_in, lock));
    while (syncline_cond_destroy(cond) != EBUSY)
        usleep(100);
    EXPECT(EBUSY, now->destroy(lock));
    EXPECT(0, now->lock(lock));
    EXPECT(0, syncline_cond_signal(cond));
    EXPECT(0, now->unlock(lock));
    EXPECT(0, pthread_join(sleeper, NULL));
}

static void test_texts(void) {
    EXPECT(0, strcmp(syncline_version(), SYNCLINE_VERSION));
    const int errors[] = {0, EPERM, EDEADLK, EBUSY, ETIMEDOUT, EINVAL, ENOMEM, ENOTSUP, -1};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        for (size_t j = 0; j < i; j++)
            EXPECT(1, strcmp(syncline_strerror(errors[i]), syncline_strerror(errors[j])) != 0);
}

int main(void) {
    test_texts();
    for (now = kinds; now < kinds + KINDS; now++) {
        void *lock = fresh(now);
        test_pointers(lock);
        test_holding(lock);
        if (now->rdlock) test_sharing(lock);
        if (now->init) test_named(lock);
        test_waited_for(lock);
        EXPECT(0, now->destroy(lock));
        if (now->init) {
            EXPECT(EINVAL, now->lock(lock));
            EXPECT(EINVAL, now->destroy(lock));
        } else {
            EXPECT(0, now->lock(lock));
            EXPECT(0, now->unlock(lock));
            EXPECT(0, now->destroy(lock));
        }
        free(lock);
    }
    printf("%zu locks\n", KINDS);
}
