/* A thread asks another one for answers, one at a time, and sleeps for a millisecond whenever the
 * answer is not there yet. An answer takes microseconds, so nearly all of the run is spent asleep.
 *
 * Fixed: the thread waits for a condition. */
#include "workload.h"
#include <unistd.h>

static const long QUESTIONS = 700, STEPS = 5000;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER, answered = PTHREAD_COND_INITIALIZER;
static long questions, answers;
static uint64_t sum;

static bool is_answered(long number) {
    pthread_mutex_lock(&mutex);
    bool is = answers >= number;
    pthread_mutex_unlock(&mutex);
    return is;
}

static void wait_for_answer(long number) {
    if (fixed) {
        pthread_mutex_lock(&mutex);
        while (answers < number)
            pthread_cond_wait(&answered, &mutex);
        pthread_mutex_unlock(&mutex);
        return;
    }
    while (!is_answered(number))
        usleep(1000); /* FINDING polling-sleep */
}

static void ask(void) {
    for (long number = 1; number <= scaled(QUESTIONS); number++) {
        pthread_mutex_lock(&mutex);
        questions = number;
        pthread_cond_signal(&asked);
        pthread_mutex_unlock(&mutex);
        wait_for_answer(number);
    }
}

static void answer(void) {
    uint64_t state = seed_of(1);
    for (long number = 1; number <= scaled(QUESTIONS); number++) {
        pthread_mutex_lock(&mutex);
        while (questions < number)
            pthread_cond_wait(&asked, &mutex);
        pthread_mutex_unlock(&mutex);
        state = work(state, STEPS);
        pthread_mutex_lock(&mutex);
        answers = number;
        sum++;
        pthread_cond_signal(&answered);
        pthread_mutex_unlock(&mutex);
    }
}

static void *operate(void *argument) {
    if ((intptr_t)argument == 0)
        ask();
    else
        answer();
    return NULL;
}

int main(int argc, char **argv) {
    threads = 2;
    read_arguments(argc, argv);
    require(threads == 2, "two threads: one asks, one answers");
    run_threads(operate);
    require(sum == (uint64_t)scaled(QUESTIONS), "answers");
    return 0;
}
