/* Statistics are published with a try: a thread that finds the lock taken keeps its numbers, and
 * publishes more of them next time. No thread tries twice in a row, or waits before its end. */
#include "workload.h"

enum { KINDS = 128 };
static const long EVENTS = 2000000, EVENTS_AT_ONCE = 2000;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long published[KINDS];

static void publish(long *own) {
    for (int kind = 0; kind < KINDS; kind++) {
        published[kind] += own[kind];
        own[kind] = 0;
    }
}

static void *observe(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    long own[KINDS] = {0};
    for (long event = 1; event <= scaled(EVENTS); event++) {
        state = work(state, 100);
        own[state % KINDS]++;
        if (event % EVENTS_AT_ONCE == 0 && pthread_mutex_trylock(&lock) == 0) {
            publish(own);
            pthread_mutex_unlock(&lock);
        }
    }
    pthread_mutex_lock(&lock);
    publish(own);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    run_threads(observe);
    long sum = 0;
    for (int kind = 0; kind < KINDS; kind++) sum += published[kind];
    require(sum == threads * scaled(EVENTS), "events that were published");
    return 0;
}
