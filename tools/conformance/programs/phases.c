// At one call site, a lock is first held for long times, and then much more often for short times.
// The program measures these times with its own clock.
#include "truth.h"

enum { LONG = 16000, SHORT = 1000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static float held[SHORT];

static int compare(const void *a, const void *b) {
    float difference = *(const float *)a - *(const float *)b;
    return (difference > 0) - (difference < 0);
}

// Takes the lock `times` times, and works for `steps` steps each time. Returns the median time for
// which the lock was held, in nanoseconds.
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
