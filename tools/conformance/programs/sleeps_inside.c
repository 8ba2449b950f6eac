// What a thread can do while it holds a lock: sleep, compute, or wait on a condition variable,
// which releases the lock.
#include "truth.h"

enum { ROUNDS = 40, SLEEP_MS = 3, COMPUTE_MS = 3, WAIT_MS = 5 };

static pthread_mutex_t slept_under = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t computed_under = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t waited_under = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static double on_processor, off_processor;

static double used(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

// Computes for this long on a processor. Adds up for how long the thread was off the processor
// meanwhile.
static void compute(double milliseconds) {
    double began = seconds(), from = used();
    while (used() < from + milliseconds / 1e3)
        continue;
    on_processor += used() - from;
    off_processor += seconds() - began - (used() - from);
}

static void *hold(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&slept_under);
        sleep_ms(SLEEP_MS);
        pthread_mutex_unlock(&slept_under);

        pthread_mutex_lock(&computed_under);
        compute(COMPUTE_MS);
        pthread_mutex_unlock(&computed_under);
    }
    return argument;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&threads[i], NULL, hold, NULL) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    say("@on_processor_us %.0f", on_processor * 1e6);
    say("@off_processor_us %.0f", off_processor * 1e6);

    double before = off_processor;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&waited_under);
        compute(1);
        struct timespec later = after(CLOCK_REALTIME, WAIT_MS);
        REQUIRE(pthread_cond_timedwait(&never, &waited_under, &later) == ETIMEDOUT);
        compute(1);
        pthread_mutex_unlock(&waited_under);
    }
    say("@off_around_wait_us %.0f", (off_processor - before) * 1e6);
    say("done");
    say("@rounds %d", ROUNDS);
    say("@wait_us %d", WAIT_MS * 1000);
    say("@sleep_us %d", SLEEP_MS * 1000);
    say("@slept_under %p", (void *)&slept_under);
    say("@computed_under %p", (void *)&computed_under);
    say("@waited_under %p", (void *)&waited_under);
    expect("MutexLock", &slept_under, 2 * ROUNDS);
    expect("MutexLock", &computed_under, 2 * ROUNDS);
    expect("MutexLock", &waited_under, ROUNDS);
    return 0;
}
