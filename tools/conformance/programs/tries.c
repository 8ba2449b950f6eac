// Tries that are refused: in a loop that does nothing else, and between other sections.
#include "truth.h"

enum { POLLS = 300000, ROUNDS = 100000 };

static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;

// The thread's processor time, which other work on the machine does not lengthen.
static unsigned long used_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000ul + now.tv_nsec / 1000;
}

__attribute__((noinline)) static void polls(void) {
    unsigned long began = used_us();
    for (int i = 0; i < POLLS; i++)
        REQUIRE(pthread_mutex_trylock(&taken) == EBUSY);
    say("@polled_us %lu", used_us() - began);
}

// Between two tries the thread does some work under another lock.
__attribute__((noinline)) static void works_between(void) {
    unsigned long began = used_us();
    for (int i = 0; i < ROUNDS; i++) {
        REQUIRE(pthread_mutex_trylock(&taken) == EBUSY);
        pthread_mutex_lock(&other);
        for (volatile int work = 0; work < 300; work++) {
        }
        pthread_mutex_unlock(&other);
    }
    say("@worked_us %lu", used_us() - began);
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
