// A function that takes a lock for its caller. It is called by two functions with frames of the
// same size, so only the rest of the stack distinguishes the two callers.
#include "truth.h"

enum { LOCKS = 500, ROUNDS = 2000 };

static pthread_mutex_t locks[2][LOCKS];

__attribute__((noinline)) static void take(pthread_mutex_t *lock) {
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    __asm__ volatile("");
}

__attribute__((noinline)) static void one_way(pthread_mutex_t *lock) {
    take(lock);
    __asm__ volatile("");
}

__attribute__((noinline)) static void other_way(pthread_mutex_t *lock) {
    take(lock);
    __asm__ volatile("nop"); // keeps the compiler from merging the two functions
}

int main(void) {
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < LOCKS; i++) {
            one_way(&locks[0][i]);
            other_way(&locks[1][i]);
        }
    say("@first_of_other %lu", (unsigned long)locks[1]);
    expect_all("MutexLock", 2ul * LOCKS * ROUNDS);
    return 0;
}
