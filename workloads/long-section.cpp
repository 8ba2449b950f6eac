/* Each task of an annealing starts with a random generator of its own. The seeds come from a shared
 * counter, and its lock is held while the generator is built and warmed up, though only the counter
 * is shared. The lock is taken a few hundred times a second, and is nearly always contended.
 * (Modelled on canneal.)
 *
 * Fixed: the section takes the seed, and the generator is built after it. */
#include "workload.h"

#include <random>

static const long TASKS = 100, WARM_UP = 600000, STEPS = 500000;

static pthread_mutex_t seed_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long seed = 1;
static long accepted[MOST_THREADS];

static void build(std::mt19937 &random, unsigned long with) {
    random.seed(with);
    random.discard(WARM_UP);
}

static void *anneal(void *argument) {
    long own = (intptr_t)argument;
    std::mt19937 random;
    for (long task = 0; task < scaled(TASKS); task++) {
        if (fixed) {
            pthread_mutex_lock(&seed_lock);
            unsigned long taken = seed++;
            pthread_mutex_unlock(&seed_lock);
            build(random, taken);
        } else {
            pthread_mutex_lock(&seed_lock); /* FINDING too-long-section */
            build(random, seed++);
            pthread_mutex_unlock(&seed_lock);
        }
        uint64_t state = work(random() | 1u, STEPS);
        accepted[own] += state != 0;
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    run_threads(anneal);
    long sum = 0;
    for (int t = 0; t < threads; t++) sum += accepted[t];
    require(sum == threads * scaled(TASKS), "tasks that were done");
    require(seed == 1 + (unsigned long)sum, "seeds that were given out");
    return 0;
}
