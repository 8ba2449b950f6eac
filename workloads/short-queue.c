/* Two threads pass numbers to two others through a queue with ten slots. It is alternately full
 * and empty, so most numbers put a thread to sleep.
 *
 * Fixed: a queue with four thousand slots. */
#include "workload.h"

enum { SHORT = 10, LONG = 4096, SIDES = 2 };
static const long NUMBERS = 400000, STEPS = 60;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static uint64_t queue[LONG];
static long put_so_far, taken_so_far;
static uint64_t sums[SIDES];

static void put(uint64_t number) {
    pthread_mutex_lock(&lock);
    while (put_so_far - taken_so_far == (fixed ? LONG : SHORT))
        pthread_cond_wait(&not_full, &lock); /* FINDING short-queue */
    queue[put_so_far++ % LONG] = number;
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&not_empty);
}

static uint64_t take(void) {
    pthread_mutex_lock(&lock);
    while (put_so_far == taken_so_far)
        pthread_cond_wait(&not_empty, &lock); /* FINDING short-queue */
    uint64_t number = queue[taken_so_far++ % LONG];
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&not_full);
    return number;
}

static void *operate(void *argument) {
    long me = (intptr_t)argument;
    uint64_t state = seed_of(me);
    for (long i = 0; i < scaled(NUMBERS); i++) {
        state = work(state, STEPS);
        if (me < SIDES)
            put(1);
        else
            sums[me - SIDES] += take();
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
