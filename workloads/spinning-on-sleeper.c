/* A common table is under a spinlock, with many more threads than processors. Now and then the
 * holder is preempted, and the other threads spin until it runs again.
 *
 * Fixed: a mutex, which lets the holder run. */
#include "workload.h"

enum { TABLE = 4096 };
static const long UPDATES = 1500, PREPARING = 100000, SWEEPS = 8;

static pthread_spinlock_t spinlock;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned table[TABLE];
static long updates;

static inline void change(uint64_t with) {
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int i = 0; i < TABLE; i++) table[i] = table[i] * 31 + (unsigned)with;
    updates++;
}

static void update(uint64_t with) {
    pthread_spin_lock(&spinlock); /* FINDING preempted-holder */
    change(with);
    pthread_spin_unlock(&spinlock);
}

static void update_under_mutex(uint64_t with) {
    pthread_mutex_lock(&mutex);
    change(with);
    pthread_mutex_unlock(&mutex);
}

static void *compute(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    for (long i = 0; i < scaled(UPDATES); i++) {
        state = work(state, PREPARING);
        if (fixed)
            update_under_mutex(state);
        else
            update(state);
    }
    return NULL;
}

int main(int argc, char **argv) {
    threads = 8;
    read_arguments(argc, argv);
    pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
    run_threads(compute);
    require(updates == threads * scaled(UPDATES), "updates of the table");
    return 0;
}
