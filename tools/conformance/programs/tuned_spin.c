// Threads take turns at a table that a spinlock protects. The holder of the lock sleeps, while the
// other threads waste processor time by spinning. With a lock that sleeps, waiting would cost
// nothing.
#include "truth.h"

enum { THREADS = 4, TURNS = 40 };

static pthread_spinlock_t table;
static long turns;

static void *use(void *argument) {
    for (int i = 0; i < TURNS; i++) {
        REQUIRE(pthread_spin_lock(&table) == 0);
        sleep_ms(1);
        turns++;
        REQUIRE(pthread_spin_unlock(&table) == 0);
    }
    return argument;
}

int main(void) {
    REQUIRE(pthread_spin_init(&table, PTHREAD_PROCESS_PRIVATE) == 0);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, use, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    say("%ld turns", turns);
    return 0;
}
