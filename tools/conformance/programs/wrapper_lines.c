// One function acquires a lock at three lines, through two wrappers on top of each other: all calls
// come from the same depth of the stack. A second lock is acquired at a fourth line, and either lock
// at a fifth.
#include "truth.h"

enum { THREADS = 2, ROUNDS = 20000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static unsigned long sites[5];
static volatile long counter;

__attribute__((noinline)) static void call(pthread_mutex_t *mutex) {
    REQUIRE(pthread_mutex_lock(mutex) == 0);
    __asm__ volatile("");
}

__attribute__((noinline)) static void take(pthread_mutex_t *mutex, unsigned long *site) {
    call(mutex);
    *site = (unsigned long)__builtin_return_address(0);
    counter++;
}

static void *run(void *unused) {
    (void)unused;
    unsigned long own[5];
    for (int i = 0; i < ROUNDS; i++) {
        take(&lock, &own[0]);
        pthread_mutex_unlock(&lock);
        take(&lock, &own[1]);
        pthread_mutex_unlock(&lock);
        if (i % 2) {
            take(&lock, &own[2]);
            pthread_mutex_unlock(&lock);
        }
        take(&other, &own[3]);
        pthread_mutex_unlock(&other);
        pthread_mutex_t *either = i / 2 % 2 ? &lock : &other;
        take(either, &own[4]);
        pthread_mutex_unlock(either);
    }
    pthread_mutex_lock(&lock);
    memcpy(sites, own, sizeof sites);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, run, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    expect("MutexLock", &lock, THREADS * (3 * ROUNDS + 1));
    expect("MutexLock", &other, THREADS * (ROUNDS + ROUNDS / 2));
    for (int i = 0; i < 5; i++)
        say("@line_%d %lu", i, sites[i]);
    return 0;
}
