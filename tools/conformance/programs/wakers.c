// Which thread ends a wait. Each wait of the main thread is ended by a thread whose number the
// program prints, or by no thread.
#include "truth.h"
#include <linux/futex.h>
#include <semaphore.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, crowd = PTHREAD_COND_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER, elsewhere = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static pthread_barrier_t barrier;
static int word, woken, entered;

static void announce(const char *what, int tid, const volatile void *object) {
    say("@%s_by %d", what, tid);
    say("@%s %p", what, (void *)object);
}

static void *hold(void *argument) {
    pthread_mutex_lock(&held);
    __atomic_store_n(&entered, 1, __ATOMIC_RELEASE);
    sleep_ms(30);
    pthread_mutex_unlock(&held);
    announce("held", thread_number(), &held);
    return argument;
}

static void *signal_it(void *argument) {
    sleep_ms(30);
    pthread_mutex_lock(&lock);
    woken = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
    announce("cond", thread_number(), &cond);
    return argument;
}

static void *broadcast_it(void *argument) {
    sleep_ms(30);
    pthread_mutex_lock(&lock);
    woken = 1;
    pthread_cond_broadcast(&crowd);
    pthread_mutex_unlock(&lock);
    announce("crowd", thread_number(), &crowd);
    return argument;
}

static void *post_it(void *argument) {
    sleep_ms(30);
    sem_post(&semaphore);
    announce("semaphore", thread_number(), &semaphore);
    return argument;
}

static void *wake_it(void *argument) {
    sleep_ms(30);
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    announce("word", thread_number(), &word);
    return argument;
}

static void *meet(void *argument) {
    sleep_ms(30);
    pthread_barrier_wait(&barrier);
    say("@barrier %p", (void *)&barrier);
    return argument;
}

static void *end(void *argument) {
    sleep_ms(30);
    announce("joined", thread_number(), (void *)pthread_self());
    return argument;
}

static void wait_on(pthread_cond_t *c) {
    pthread_mutex_lock(&lock);
    for (woken = 0; !woken;)
        pthread_cond_wait(c, &lock);
    pthread_mutex_unlock(&lock);
}

// Runs `other` in a new thread and, at the same time, the function `wait`, which waits for that
// thread. Then joins the thread.
static void beside(void *(*other)(void *), void (*wait)(void)) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, other, NULL) == 0);
    wait();
    pthread_join(thread, NULL);
}

static void for_lock(void) {
    while (!__atomic_load_n(&entered, __ATOMIC_ACQUIRE))
        usleep(100);
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
}
static void for_signal(void) { wait_on(&cond); }
static void for_signal_and_more(void) { wait_on(&elsewhere); }
static void for_broadcast(void) { wait_on(&crowd); }
static void for_post(void) { sem_wait(&semaphore); }
static void for_barrier(void) { pthread_barrier_wait(&barrier); }
static void for_nothing(void) {}
static void for_wake(void) {
    while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

// The woken thread runs only after its waker has also signalled something for which no thread
// waits. The recording may name the waker or no thread, but never the thread that signalled before
// the wait began.
static void *signal_and_go_on(void *argument) {
    sleep_ms(30);
    pthread_mutex_lock(&lock);
    woken = 1;
    pthread_cond_signal(&elsewhere);
    pthread_cond_broadcast(&crowd);
    pthread_mutex_unlock(&lock);
    announce("elsewhere", thread_number(), &elsewhere);
    return argument;
}

static void *signal_too_early(void *argument) {
    pthread_cond_signal(&elsewhere);
    return argument;
}

static void in_vain(void) {
    struct timespec soon = after(CLOCK_REALTIME, 5);
    pthread_mutex_lock(&lock);
    REQUIRE(pthread_cond_timedwait(&never, &lock, &soon) == ETIMEDOUT);
    pthread_mutex_unlock(&lock);
    say("@never %p", (void *)&never);
}

int main(void) {
    sem_init(&semaphore, 0, 0);
    pthread_barrier_init(&barrier, NULL, 2);
    say("@waiter %d", thread_number());
    beside(hold, for_lock);
    beside(signal_it, for_signal);
    beside(broadcast_it, for_broadcast);
    beside(post_it, for_post);
    beside(wake_it, for_wake);
    beside(meet, for_barrier);
    beside(signal_too_early, for_nothing);
    beside(signal_and_go_on, for_signal_and_more);
    // This comes last, because later threads may get the same handle.
    beside(end, for_nothing);
    in_vain();
    say("done");
    return 0;
}
