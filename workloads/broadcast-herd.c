/* Sixteen workers wait for requests, which come one at a time. Each request wakes all workers; one
 * gets it, the others find nothing and go back to sleep.
 *
 * Fixed: one request wakes one worker. */
#include "workload.h"

static const long REQUESTS = 4000, STEPS = 30000;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t request_came = PTHREAD_COND_INITIALIZER;
static pthread_cond_t answer_came = PTHREAD_COND_INITIALIZER;
static long requests, answers;
static bool closed;

static bool take_request(void) {
    pthread_mutex_lock(&lock);
    while (requests == 0 && !closed)
        pthread_cond_wait(&request_came, &lock); /* FINDING futile-wake-ups */
    bool taken = requests > 0;
    if (taken) requests--;
    pthread_mutex_unlock(&lock);
    return taken;
}

static void *serve(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    while (take_request()) {
        state = work(state, STEPS);
        pthread_mutex_lock(&lock);
        answers++;
        pthread_cond_signal(&answer_came);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* Sends a request and waits for its answer. */
static void ask(void) {
    pthread_mutex_lock(&lock);
    long before = answers;
    requests++;
    if (fixed)
        pthread_cond_signal(&request_came);
    else
        pthread_cond_broadcast(&request_came); /* FINDING futile-wake-ups */
    while (answers == before) pthread_cond_wait(&answer_came, &lock);
    pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv) {
    threads = 16;
    read_arguments(argc, argv);
    pthread_t workers[MOST_THREADS];
    start_measuring();
    for (int t = 0; t < threads; t++) workers[t] = start_thread(serve, t);
    uint64_t state = seed_of(threads);
    for (long request = 0; request < scaled(REQUESTS); request++) {
        state = work(state, STEPS);
        ask();
    }
    pthread_mutex_lock(&lock);
    closed = true;
    pthread_cond_broadcast(&request_came);
    pthread_mutex_unlock(&lock);
    for (int t = 0; t < threads; t++) pthread_join(workers[t], NULL);
    stop_measuring();
    require(answers == scaled(REQUESTS), "requests that were answered");
    return 0;
}
