/* Threads meet after every step of a clustering. The barrier is home-made: a counter under a mutex,
 * which each waiting thread polls. The threads use trylock in order not to sleep. The waiting
 * threads take the processors from the threads that they wait for. (Modelled on streamcluster and
 * its parsec_barrier.)
 *
 * Fixed: pthread_barrier_wait. */
#include "workload.h"

static const long PHASES = 120, STEPS = 300000;

static struct {
    pthread_mutex_t mutex;
    int arrived;
    long phase;
} barrier = {PTHREAD_MUTEX_INITIALIZER, 0, 0};
static pthread_barrier_t real_barrier;
static long costs[MOST_THREADS];

static void meet(void) {
    pthread_mutex_lock(&barrier.mutex);
    long phase = barrier.phase;
    if (++barrier.arrived == threads) {
        barrier.arrived = 0;
        barrier.phase++;
    }
    bool last = barrier.phase != phase;
    pthread_mutex_unlock(&barrier.mutex);
    while (!last) {
        if (pthread_mutex_trylock(&barrier.mutex) != 0) continue; /* FINDING polling-barrier */
        last = barrier.phase != phase;
        pthread_mutex_unlock(&barrier.mutex);
    }
}

static void *cluster(void *argument) {
    long own = (intptr_t)argument;
    uint64_t state = seed_of(own);
    for (long phase = 0; phase < scaled(PHASES); phase++) {
        state = work(state, STEPS);
        costs[own]++;
        if (fixed)
            pthread_barrier_wait(&real_barrier);
        else
            meet();
        for (int t = 0; t < threads; t++) {
            long theirs = __atomic_load_n(&costs[t], __ATOMIC_RELAXED);
            require(theirs > phase, "all came before one left");
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    pthread_barrier_init(&real_barrier, NULL, (unsigned)threads);
    run_threads(cluster);
    for (int t = 0; t < threads; t++) require(costs[t] == scaled(PHASES), "phases of a thread");
    return 0;
}
