// The first thread takes a lock once, in first(), and then only waits for the other threads, which
// contend for this lock. The report must not blame the first thread only because it once released
// the lock.
#include "truth.h"

enum { THREADS = 3, ROUNDS = 300000, STEPS = 300 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start;
static volatile long count;

__attribute__((noinline)) static void first(void) {
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}

__attribute__((noinline)) static void others(void) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < STEPS; i++)
        count++;
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}

static void *contend(void *argument) {
    pthread_barrier_wait(&start);
    for (int i = 0; i < ROUNDS; i++)
        others();
    return argument;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&start, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, contend, NULL) == 0);
    first();
    pthread_barrier_wait(&start);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    say("@lock %lu", (unsigned long)&lock);
    expect("MutexLock", &lock, 1 + THREADS * ROUNDS);
    return 0;
}
