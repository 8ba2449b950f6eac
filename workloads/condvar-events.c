/* A solver hands out a frame's work in thousands of rounds of one small piece for each thread, and
 * waits for the end of each round. The threads only have to exchange two counters, but these go
 * through a mutex and two condition variables, and so through the kernel's scheduler. (Modelled on
 * facesim's task queue.)
 *
 * Fixed: two hundred pieces at a time. */
#include "workload.h"

enum { MANY = 200 };
static const long PIECES = 25000, STEPS = 1500;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t task_available = PTHREAD_COND_INITIALIZER;
static pthread_cond_t tasks_done = PTHREAD_COND_INITIALIZER;
static long round_number, done_count;
static long pieces[MOST_THREADS];

static void wait_for_tasks(long round) {
    pthread_mutex_lock(&lock);
    while (round_number != round)
        pthread_cond_wait(&task_available, &lock); /* FINDING tiny-events */
    pthread_mutex_unlock(&lock);
}

static void task_is_done(void) {
    pthread_mutex_lock(&lock);
    if (++done_count == threads) pthread_cond_signal(&tasks_done);
    pthread_mutex_unlock(&lock);
}

static long at_a_time(void) { return fixed ? MANY : 1; }

static long rounds(void) { return (scaled(PIECES) + at_a_time() - 1) / at_a_time(); }

static void *solve_pieces(void *argument) {
    long own = (intptr_t)argument;
    uint64_t state = seed_of(own);
    for (long round = 1; round <= rounds(); round++) {
        wait_for_tasks(round);
        state = work(state, STEPS * at_a_time());
        pieces[own]++;
        task_is_done();
    }
    return NULL;
}

static void solve_a_round(long round) {
    pthread_mutex_lock(&lock);
    done_count = 0;
    round_number = round;
    pthread_cond_broadcast(&task_available);
    while (done_count != threads)
        pthread_cond_wait(&tasks_done, &lock); /* FINDING tiny-events */
    pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv) {
    threads = 2;
    read_arguments(argc, argv);
    pthread_t solvers[MOST_THREADS];
    start_measuring();
    for (int t = 0; t < threads; t++) solvers[t] = start_thread(solve_pieces, t);
    for (long round = 1; round <= rounds(); round++) {
        solve_a_round(round);
        for (int t = 0; t < threads; t++) require(pieces[t] == round, "all pieces of a round");
    }
    for (int t = 0; t < threads; t++) pthread_join(solvers[t], NULL);
    stop_measuring();
    return 0;
}
