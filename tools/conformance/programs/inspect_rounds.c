// Several rounds of threads. In each round, many threads exist at the same time and use a lock in
// turn. After each round, the program prints the size of its address space.
#include "truth.h"
#include <semaphore.h>

enum { ROUNDS = 4, THREADS = 400 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;
static sem_t locked;
static int count;

static void *work(void *unused) {
    pthread_mutex_lock(&mutex);
    count++;
    pthread_mutex_unlock(&mutex);
    sem_post(&locked);
    pthread_barrier_wait(&all);
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_attr_t small;
    pthread_attr_init(&small);
    REQUIRE(pthread_attr_setstacksize(&small, 64 << 10) == 0);
    REQUIRE(pthread_barrier_init(&all, NULL, THREADS) == 0);
    REQUIRE(sem_init(&locked, 0, 0) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS; i++) {
            REQUIRE(pthread_create(&threads[i], &small, work, NULL) == 0);
            REQUIRE(sem_wait(&locked) == 0);
        }
        for (int i = 0; i < THREADS; i++)
            REQUIRE(pthread_join(threads[i], NULL) == 0);
        say("@mapped%d %ld", round, kilobytes_of("VmSize:"));
    }
    say("%d", count);
    return 0;
}
