/* Threads that change data on the stack of `main`'s thread. Data of `main` has the names of main's
 * variables.
 *
 *   lock     protects two sums of `main`, which come after a number that is not shared
 *   list     protects elements of an array in a function that `main` calls through a pointer
 *
 * The first section is over before the second thread exists. Then the places of the other threads'
 * handles in `with_elements` still contain return addresses that calls of `main` have left there.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 400 };

struct sums {
    long count, total;
};

struct shared {
    pthread_mutex_t *lock;
    long *changed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;

static atomic_int over;

static void *run(void *argument) {
    struct shared *shared = argument;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(shared->lock);
        *shared->changed += round;
        pthread_mutex_unlock(shared->lock);
        atomic_store(&over, 1);
    }
    return NULL;
}

__attribute__((always_inline)) static inline void run_all(struct shared *shared) {
    pthread_t threads[THREADS];
    atomic_store(&over, 0);
    pthread_create(&threads[0], NULL, run, shared);
    while (!atomic_load(&over)) sched_yield();
    for (int t = 1; t < THREADS; t++) pthread_create(&threads[t], NULL, run, shared);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
}

__attribute__((noinline)) static long with_elements(int first) {
    long elements[8] = {first};
    struct shared shared = {&list, &elements[5]};
    run_all(&shared);
    return elements[5];
}

static long (*volatile pointer)(int) = with_elements;

int main(void) {
    struct sums sums = {0, 0};
    struct shared shared = {&lock, &sums.total};
    run_all(&shared);
    printf("%ld\n", sums.total + sums.count + pointer(1));
    return 0;
}
