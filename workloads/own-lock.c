/* Threads interpret instructions under a lock that the program has built from a mutex, a
 * condition variable and a flag, like interpreters of languages. The mutex is hardly ever
 * contended, but the threads run one at a time.
 *
 * Fixed: only an instruction's accesses to shared data are under the lock. */
#include "workload.h"

static const long INSTRUCTIONS = 8000, STEPS = 10000;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_free = PTHREAD_COND_INITIALIZER;
static bool taken;
static long interpreted;

static void take(void) {
    pthread_mutex_lock(&lock);
    while (taken)
        pthread_cond_wait(&is_free, &lock); /* FINDING own-lock */
    taken = true;
    pthread_mutex_unlock(&lock);
}

static void give(void) {
    pthread_mutex_lock(&lock);
    taken = false;
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&is_free);
}

static void *interpret(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    for (long i = 0; i < scaled(INSTRUCTIONS); i++) {
        if (fixed)
            state = work(state, STEPS);
        take();
        if (!fixed)
            state = work(state, STEPS);
        interpreted++;
        give();
    }
    return (void *)(intptr_t)(state != 0 ? 0 : 1);
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    run_threads(interpret);
    require(interpreted == threads * scaled(INSTRUCTIONS), "instructions that were interpreted");
    return 0;
}
