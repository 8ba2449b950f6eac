/* Workers wait for jobs that arrive from outside, one every two milliseconds; a job wakes one
 * worker. The workers wait most of the time, but only because there are no jobs. */
#include "workload.h"

static const long JOBS = 400, STEPS = 150000, ARRIVAL_NANOSECONDS = 2000000;

struct job {
    struct job *next;
    uint64_t seed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_came = PTHREAD_COND_INITIALIZER;
static struct job *first, **last = &first;
static bool closed;
static long done;

static struct job *take(void) {
    pthread_mutex_lock(&lock);
    while (first == NULL && !closed) pthread_cond_wait(&job_came, &lock);
    struct job *job = first;
    if (job != NULL && (first = job->next) == NULL) last = &first;
    pthread_mutex_unlock(&lock);
    return job;
}

static void *serve(void *argument) {
    (void)argument;
    for (struct job *job; (job = take()) != NULL; free(job)) {
        if (work(job->seed, STEPS) != 0) __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void *submit(void *argument) {
    const struct timespec arrival = {0, ARRIVAL_NANOSECONDS};
    (void)argument;
    for (long i = 0; i < scaled(JOBS); i++) {
        nanosleep(&arrival, NULL);
        struct job *job = malloc(sizeof *job);
        require(job != NULL, "memory");
        *job = (struct job){NULL, seed_of(i)};
        pthread_mutex_lock(&lock);
        *last = job;
        last = &job->next;
        pthread_cond_signal(&job_came);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    closed = true;
    pthread_cond_broadcast(&job_came);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    pthread_t workers[MOST_THREADS];
    start_measuring();
    pthread_t submitter = start_thread(submit, 0);
    for (int t = 0; t < threads; t++) workers[t] = start_thread(serve, t);
    pthread_join(submitter, NULL);
    for (int t = 0; t < threads; t++) pthread_join(workers[t], NULL);
    stop_measuring();
    require(done == scaled(JOBS), "jobs that were done");
    return 0;
}
