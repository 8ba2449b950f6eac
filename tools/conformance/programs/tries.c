// Tries that are refused: in a loop that does nothing else, and between other sections.
#include "truth.h"

enum { POLLS = 300000, ROUNDS = 100000 };

static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;

static unsigned long microseconds_since(double began) {
    return (unsigned long)((seconds() - began) * 1e6);
}

__attribute__((noinline)) static void polls(void) {
    double began = seconds();
    for (int i = 0; i < POLLS; i++)
        REQUIRE(pthread_mutex_trylock(&taken) == EBUSY);
    say("@polled_us %lu", microseconds_since(began));
}

// Between two tries the thread does some work under another lock.
__attribute__((noinline)) static void works_between(void) {
    double began = seconds();
    for (int i = 0; i < ROUNDS; i++) {
        REQUIRE(pthread_mutex_trylock(&taken) == EBUSY);
        pthread_mutex_lock(&other);
        for (volatile int work = 0; work < 300; work++) {
        }
        pthread_mutex_unlock(&other);
    }
    say("@worked_us %lu", microseconds_since(began));
}

int main(void) {
    REQUIRE(pthread_mutex_lock(&taken) == 0);
    polls();
    works_between();
    expect("MutexTrylock.refused", &taken, POLLS + ROUNDS);
    expect("MutexLock", &taken, 1);
    expect("MutexLock", &other, ROUNDS);
    return 0;
}
