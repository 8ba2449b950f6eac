/* Two threads pass numbers to two others through a queue with ten slots. It is alternately full
 * and empty, so most numbers put a thread to sleep.
 *
 * Fixed: a queue with four thousand slots, and 128 numbers at a time. With 16 at a time no thread
 * waits for room, but the lock still takes a quarter of the time. */
#include "workload.h"

enum { SHORT = 10, LONG = 4096, SIDES = 2, SEVERAL = 128 };
static const long NUMBERS = 400000, STEPS = 60;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static uint64_t queue[LONG];
static long put_so_far, taken_so_far;
static uint64_t sums[SIDES];

static void put(const uint64_t *numbers, int count) {
    pthread_mutex_lock(&lock);
    while (put_so_far - taken_so_far > (fixed ? LONG : SHORT) - count)
        pthread_cond_wait(&not_full, &lock); /* FINDING short-queue */
    for (int n = 0; n < count; n++) queue[put_so_far++ % LONG] = numbers[n];
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&not_empty);
}

static void take(uint64_t *numbers, int count) {
    pthread_mutex_lock(&lock);
    while (put_so_far - taken_so_far < count)
        pthread_cond_wait(&not_empty, &lock); /* FINDING short-queue */
    for (int n = 0; n < count; n++) numbers[n] = queue[taken_so_far++ % LONG];
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&not_full);
}

static void *operate(void *argument) {
    long me = (intptr_t)argument;
    uint64_t state = seed_of(me);
    uint64_t numbers[SEVERAL];
    for (long i = 0; i < scaled(NUMBERS);) {
        long left = scaled(NUMBERS) - i, most = fixed ? SEVERAL : 1;
        int count = (int)(left < most ? left : most);
        if (me >= SIDES)
            take(numbers, count);
        for (int n = 0; n < count; n++, i++) {
            state = work(state, STEPS);
            if (me < SIDES)
                numbers[n] = 1;
            else
                sums[me - SIDES] += numbers[n];
        }
        if (me < SIDES)
            put(numbers, count);
    }
    return NULL;
}

int main(int argc, char **argv) {
    threads = 2 * SIDES;
    read_arguments(argc, argv);
    run_threads(operate);
    require(sums[0] + sums[1] == (uint64_t)(SIDES * scaled(NUMBERS)), "numbers that came through");
    return 0;
}
