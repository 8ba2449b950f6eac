// Locks that are taken while other locks are held. The program counts which lock it holds when it
// takes another. It has one thread, so there are no waits.
#include "truth.h"

enum { ROUNDS = 600, OUTERS = 5 };

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t later = PTHREAD_MUTEX_INITIALIZER, many = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t several[OUTERS], again;
static pthread_rwlock_t middle = PTHREAD_RWLOCK_INITIALIZER;

__attribute__((noinline)) static void take(pthread_mutex_t *mutex) {
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    __asm__ volatile("");
}

// Of the locks that are held, only the innermost one counts.
__attribute__((noinline)) static void always_inside(void) {
    pthread_mutex_lock(&outer);
    pthread_rwlock_rdlock(&middle);
    take(&inner);
    pthread_rwlock_unlock(&middle);
    pthread_mutex_unlock(&outer);
}

__attribute__((noinline)) static void sometimes_inside(int round) {
    // Otherwise the compiler could make two calls of `take`, one in each branch: two places.
    volatile int inside = round >= ROUNDS / 3;
    if (inside)
        pthread_mutex_lock(&outer);
    take(&later);
    if (inside)
        pthread_mutex_unlock(&outer);
}

__attribute__((noinline)) static void inside_one_of_many(int round) {
    pthread_mutex_lock(&several[round % OUTERS]);
    take(&many);
    pthread_mutex_unlock(&several[round % OUTERS]);
}

// A lock that is taken again is not counted as being inside itself.
__attribute__((noinline)) static void recursive(void) {
    pthread_mutex_lock(&again);
    take(&again);
    pthread_mutex_unlock(&again);
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    REQUIRE(pthread_mutex_init(&again, &attributes) == 0);
    for (int i = 0; i < OUTERS; i++)
        REQUIRE(pthread_mutex_init(&several[i], NULL) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        always_inside();
        sometimes_inside(round);
        inside_one_of_many(round);
        recursive();
    }
    say("done");
    say("@rounds %d", ROUNDS);
    say("@alone %d", ROUNDS / 3);
    say("@outers %d", OUTERS);
    say("@outer %p", (void *)&outer);
    say("@middle %p", (void *)&middle);
    say("@inner %p", (void *)&inner);
    say("@later %p", (void *)&later);
    say("@many %p", (void *)&many);
    say("@again %p", (void *)&again);
    expect("MutexLock", &inner, ROUNDS);
    expect("MutexLock", &later, ROUNDS);
    expect("MutexLock", &many, ROUNDS);
    expect("RwlockRead", &middle, ROUNDS);
    return 0;
}
