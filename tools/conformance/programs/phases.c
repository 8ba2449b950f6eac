// Long holds of a lock at a call site, and then many more short ones. The program measures each
// with its own clock.
#include "truth.h"

enum { LONG = 16000, SHORT = 1000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static float held[SHORT];

static int compare(const void *a, const void *b) {
    float difference = *(const float *)a - *(const float *)b;
    return (difference > 0) - (difference < 0);
}

// Takes the lock `times` times, for `steps` steps of work each. Returns the median length of a hold
// in nanoseconds.
__attribute__((noinline)) static double hold(int times, int steps) {
    for (int i = 0; i < times; i++) {
        double began = seconds();
        pthread_mutex_lock(&lock);
        for (volatile int step = 0; step < steps; step++)
            ;
        pthread_mutex_unlock(&lock);
        held[i] = (float)((seconds() - began) * 1e9);
    }
    qsort(held, times, sizeof *held, compare);
    return held[times / 2];
}

int main(void) {
    double of_long = hold(LONG, 4000), of_short = hold(SHORT, 1);
    say("@lock %lu", (unsigned long)&lock);
    say("@total_ns %.0f", LONG * of_long + SHORT * of_short);
    expect("MutexLock", &lock, LONG + SHORT);
    return 0;
}
