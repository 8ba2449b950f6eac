// Locks that are held while no thread waits for them. At two call sites, one lock is held for a
// short and for a long time equally often. Two other locks are taken, and the first of them is
// released before the second. The program measures all of these times with its own clock.
#include "truth.h"

enum { ROUNDS = 300 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static double of_long[ROUNDS], of_short[ROUNDS], of_first[ROUNDS], of_second[ROUNDS];

// The holder sleeps and does not compute, so that other work on the machine changes the time only a
// little.
static double hold(long microseconds) {
    double began = seconds();
    usleep(microseconds);
    return seconds() - began;
}

__attribute__((noinline)) static void hold_long(int round) {
    pthread_mutex_lock(&lock);
    of_long[round] = hold(1500);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}

__attribute__((noinline)) static void hold_short(int round) {
    pthread_mutex_lock(&lock);
    of_short[round] = hold(200);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}

__attribute__((noinline)) static void hold_first(int round) {
    pthread_mutex_lock(&first);
    of_first[round] = hold(1500);
}

__attribute__((noinline)) static void hold_second(int round) {
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&first);
    of_second[round] = hold(100);
    pthread_mutex_unlock(&second);
}

static int compare(const void *a, const void *b) {
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static double median(double *times) {
    qsort(times, ROUNDS, sizeof *times, compare);
    return times[ROUNDS / 2];
}

int main(void) {
    for (int i = 0; i < ROUNDS; i++) {
        hold_long(i);
        hold_short(i);
        hold_first(i);
        hold_second(i);
    }
    say("@lock %lu", (unsigned long)&lock);
    say("@first %lu", (unsigned long)&first);
    say("@second %lu", (unsigned long)&second);
    say("@hold_long_ns %.0f", median(of_long) * 1e9);
    say("@hold_short_ns %.0f", median(of_short) * 1e9);
    say("@hold_first_ns %.0f", median(of_first) * 1e9);
    say("@hold_second_ns %.0f", median(of_second) * 1e9);
    expect("MutexLock", &lock, 2 * ROUNDS);
    expect("MutexLock", &first, ROUNDS);
    expect("MutexLock", &second, ROUNDS);
    return 0;
}
