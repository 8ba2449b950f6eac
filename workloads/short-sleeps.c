/* A client asks for something and waits for the answer; a worker looks every millisecond whether somebody
 * has asked.
 *
 * Fixed: the worker waits for a condition. */
#include "workload.h"

static const long REQUESTS = 400, STEPS = 20000;
static const long PAUSE_NANOSECONDS = 1000000;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER, answered = PTHREAD_COND_INITIALIZER;
static long requests, answers;

/* Waits until there is a request, and returns its number. */
static long next_request(void) {
    pthread_mutex_lock(&lock);
    do {
        if (fixed && requests == answers) {
            pthread_cond_wait(&asked, &lock);
        } else if (!fixed) {
            pthread_mutex_unlock(&lock);
            const struct timespec pause = {0, PAUSE_NANOSECONDS};
            nanosleep(&pause, NULL); /* FINDING short-sleeps */
            pthread_mutex_lock(&lock);
        }
    } while (requests == answers);
    long request = requests;
    pthread_mutex_unlock(&lock);
    return request;
}

static void serve(uint64_t state) {
    for (long i = 0; i < scaled(REQUESTS); i++) {
        long request = next_request();
        state = work(state, STEPS);
        pthread_mutex_lock(&lock);
        answers = request;
        pthread_cond_signal(&answered);
        pthread_mutex_unlock(&lock);
    }
}

static void ask(uint64_t state) {
    for (long i = 0; i < scaled(REQUESTS); i++) {
        state = work(state, STEPS);
        pthread_mutex_lock(&lock);
        requests++;
        pthread_cond_signal(&asked);
        while (answers != requests) pthread_cond_wait(&answered, &lock);
        pthread_mutex_unlock(&lock);
    }
}

static void *operate(void *argument) {
    long me = (intptr_t)argument;
    (me == 0 ? serve : ask)(seed_of(me));
    return NULL;
}

int main(int argc, char **argv) {
    threads = 2;
    read_arguments(argc, argv);
    require(threads == 2, "one that asks and one that answers");
    run_threads(operate);
    require(answers == scaled(REQUESTS), "requests that were answered");
    return 0;
}
