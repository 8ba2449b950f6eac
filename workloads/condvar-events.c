/* A solver hands out a frame's work in thousands of small pieces, and waits for each to be done
 * before the next begins. The threads only have to exchange two counters, but these go through a
 * mutex and two condition variables, and so through the kernel's scheduler. (In the manner of
 * facesim's task queue.)
 *
 * Fixed: the two counters are atomic, and threads poll them until they change. */
#include "workload.h"

#include <sched.h>

static const long ROUNDS = 25000, STEPS = 1500;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t task_available = PTHREAD_COND_INITIALIZER;
static pthread_cond_t tasks_done = PTHREAD_COND_INITIALIZER;
static long round_number, done_count;
static long pieces[MOST_THREADS];

static void wait_for_tasks(long round) {
    if (fixed) {
        while (__atomic_load_n(&round_number, __ATOMIC_ACQUIRE) != round) sched_yield();
        return;
    }
    pthread_mutex_lock(&lock);
    while (round_number != round)
        pthread_cond_wait(&task_available, &lock); /* FINDING condvar-for-tiny-events */
    pthread_mutex_unlock(&lock);
}

static void task_is_done(void) {
    if (fixed) {
        __atomic_fetch_add(&done_count, 1, __ATOMIC_RELEASE);
        return;
    }
    pthread_mutex_lock(&lock);
    if (++done_count == threads) pthread_cond_signal(&tasks_done);
    pthread_mutex_unlock(&lock);
}

static void *solve_pieces(void *argument) {
    long own = (intptr_t)argument;
    uint64_t state = seed_of(own);
    for (long round = 1; round <= scaled(ROUNDS); round++) {
        wait_for_tasks(round);
        state = work(state, STEPS);
        pieces[own]++;
        task_is_done();
    }
    return NULL;
}

static void solve_a_round(long round) {
    if (fixed) {
        __atomic_store_n(&done_count, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&round_number, round, __ATOMIC_RELEASE);
        while (__atomic_load_n(&done_count, __ATOMIC_ACQUIRE) != threads) sched_yield();
        return;
    }
    pthread_mutex_lock(&lock);
    done_count = 0;
    round_number = round;
    pthread_cond_broadcast(&task_available);
    while (done_count != threads)
        pthread_cond_wait(&tasks_done, &lock); /* FINDING condvar-for-tiny-events */
    pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv) {
    threads = 2;
    read_arguments(argc, argv);
    pthread_t solvers[MOST_THREADS];
    start_measuring();
    for (int t = 0; t < threads; t++) solvers[t] = start_thread(solve_pieces, t);
    for (long round = 1; round <= scaled(ROUNDS); round++) {
        solve_a_round(round);
        for (int t = 0; t < threads; t++) require(pieces[t] == round, "all pieces of a round");
    }
    for (int t = 0; t < threads; t++) pthread_join(solvers[t], NULL);
    stop_measuring();
    return 0;
}
