// Threads that are cancelled while they wait, or that exit from nested calls. Their clean-up
// handlers run, and hold the mutex if POSIX says so. The handlers count what they do.
#include "truth.h"
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t closed, ready;
static int cleaned;

static void unlock_held(void *argument) {
    REQUIRE(pthread_mutex_trylock(argument) == EBUSY);
    cleaned++;
    REQUIRE(pthread_mutex_unlock(argument) == 0);
    REQUIRE(pthread_mutex_lock(&other) == 0);
    REQUIRE(pthread_mutex_unlock(&other) == 0);
}

static void clean(void *argument) {
    (void)argument;
    REQUIRE(pthread_mutex_lock(&other) == 0);
    cleaned++;
    REQUIRE(pthread_mutex_unlock(&other) == 0);
}

static void *in_cond_wait(void *timed) {
    struct timespec later = after(CLOCK_REALTIME, 100000);
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock_held, &lock);
    sem_post(&ready);
    for (;;)
        timed ? pthread_cond_timedwait(&never, &lock, &later) : pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(1);
    return NULL;
}

static void *in_sem_wait(void *timed) {
    struct timespec later = after(CLOCK_REALTIME, 100000);
    pthread_cleanup_push(clean, NULL);
    sem_post(&ready);
    timed ? sem_timedwait(&closed, &later) : sem_wait(&closed);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *sleeper(void *argument) {
    sleep(1000);
    return argument;
}

static void *in_join(void *argument) {
    pthread_cleanup_push(clean, NULL);
    sem_post(&ready);
    pthread_join(*(pthread_t *)argument, NULL);
    pthread_cleanup_pop(0);
    return NULL;
}

// A thread that is cancelled at once (asynchronously) while it is outside of any call.
static void *asynchronously(void *argument) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    sem_post(&ready);
    for (;;)
        __asm__ volatile("" ::: "memory");
    return argument;
}

// Called through a pointer; otherwise the compiler would warn that leave() never returns.
static void (*volatile quit)(void *) = pthread_exit;

__attribute__((noinline)) static void leave(int depth) {
    if (depth == 0)
        quit((void *)7L);
    else
        leave(depth - 1);
    __asm__ volatile("");
}

static void *exits_within(void *argument) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock_held, &lock);
    leave(20);
    pthread_cleanup_pop(0);
    return argument;
}

// A thread that is cancelled before its first lock. Acquiring a lock is not a cancellation point,
// whether the thread has to wait or not.
static void *at_no_lock(void *argument) {
    REQUIRE(pthread_cancel(pthread_self()) == 0);
    pthread_mutex_lock(&other);
    pthread_mutex_unlock(&other);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    cleaned = 1;
    pthread_testcancel();
    cleaned = 2;
    return argument;
}

static void cancelled(const char *name, void *(*start)(void *), void *argument) {
    pthread_t thread;
    void *result;
    cleaned = 0;
    REQUIRE(pthread_create(&thread, NULL, start, argument) == 0);
    REQUIRE(sem_wait(&ready) == 0);
    sleep_ms(5);
    REQUIRE(pthread_cancel(thread) == 0);
    REQUIRE(pthread_join(thread, &result) == 0);
    say("%s: cancelled %d, cleaned %d", name, result == PTHREAD_CANCELED, cleaned);
}

int main(void) {
    sem_init(&closed, 0, 0);
    sem_init(&ready, 0, 0);
    cancelled("cond_wait", in_cond_wait, NULL);
    cancelled("cond_timedwait", in_cond_wait, &lock);
    cancelled("sem_wait", in_sem_wait, NULL);
    cancelled("sem_timedwait", in_sem_wait, &lock);
    pthread_t asleep;
    pthread_create(&asleep, NULL, sleeper, NULL);
    cancelled("join", in_join, &asleep);
    pthread_cancel(asleep);
    REQUIRE(pthread_join(asleep, NULL) == 0);
    cancelled("asynchronous", asynchronously, NULL);

    pthread_t thread;
    void *result;
    cleaned = 0;
    pthread_create(&thread, NULL, exits_within, NULL);
    REQUIRE(pthread_join(thread, &result) == 0);
    say("exit: result %ld, cleaned %d", (long)result, cleaned);

    cleaned = 0;
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, at_no_lock, NULL);
    sleep_ms(20);
    pthread_mutex_unlock(&lock);
    REQUIRE(pthread_join(thread, &result) == 0);
    say("before: cancelled %d, came to %d", result == PTHREAD_CANCELED, cleaned);

    // The locks must still work, and no thread must hold them.
    REQUIRE(pthread_mutex_trylock(&lock) == 0 && pthread_mutex_unlock(&lock) == 0);
    REQUIRE(pthread_mutex_trylock(&other) == 0 && pthread_mutex_unlock(&other) == 0);
    expect("MutexLock", &lock, 5);
    expect("MutexTrylock", &lock, 1);
    expect("MutexTrylock.refused", &lock, 3);
    expect("MutexLock", &other, 7);
    expect("MutexTrylock", &other, 1);
    expect("SemPost", &ready, 6);
    expect("SemWait", &ready, 6);
    expect("SemInit", &ready, 1);
    expect_all("ThreadCreate", 9);
    return 0;
}
