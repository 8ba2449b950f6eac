// In every round, a thread has to wait for a lock, and then holds it only for a moment. In every
// second round it also holds another lock during the wait and the section. In every fifth round it
// waits for a condition before it releases the lock.
#include "truth.h"
#include <stdatomic.h>

enum { ROUNDS = 100 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static atomic_int begun, done;

static void until(atomic_int *rounds, int round) {
    while (atomic_load(rounds) < round)
        usleep(50);
}

static void *waits(void *unused) {
    (void)unused;
    for (int round = 1; round <= ROUNDS; round++) {
        until(&begun, round);
        if (round % 2 == 0)
            pthread_mutex_lock(&outer);
        REQUIRE(pthread_mutex_lock(&lock) == 0);
        if (round % 5 == 0) {
            struct timespec past = {0};
            REQUIRE(pthread_cond_timedwait(&never, &lock, &past) == ETIMEDOUT);
        }
        REQUIRE(pthread_mutex_unlock(&lock) == 0);
        if (round % 2 == 0)
            pthread_mutex_unlock(&outer);
        atomic_store(&done, round);
    }
    say("@waiter %d", thread_number());
    return NULL;
}

// Whether a thread sleeps until the lock is released. The C library stores that in the lock's word.
static int is_waited_for(void) {
    return atomic_load((atomic_int *)&lock) == 2;
}

int main(void) {
    pthread_t waiter;
    pthread_create(&waiter, NULL, waits, NULL);
    for (int round = 1; round <= ROUNDS; round++) {
        pthread_mutex_lock(&lock);
        atomic_store(&begun, round);
        while (!is_waited_for())
            usleep(50);
        pthread_mutex_unlock(&lock);
        until(&done, round);
    }
    pthread_join(waiter, NULL);
    say("@lock %lu", (unsigned long)&lock);
    say("@outer %lu", (unsigned long)&outer);
    say("@rounds %d", ROUNDS);
    expect("MutexLock", &lock, 2 * ROUNDS);
    return 0;
}
