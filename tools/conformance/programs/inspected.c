/* Locks whose critical sections touch different kinds of data, for `syncline inspect`. What each
 * thread does under a lock:
 *
 *   table_lock    changes one of 64 independent blocks of the heap
 *   counted_lock  changes such a block, and a counter that all threads share
 *   local_lock    works on its own stack, and on a block that only this thread has
 *   long_lock     computes for 2,000 steps, and then adds one bit of the result to each of two sums
 *   printing_lock writes a byte to /dev/null
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 4, ENTRIES = 64, ROUNDS = 600 };

struct entry {
    long changes, sum, padding[6];
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t counted_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t local_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t long_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t printing_lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *table[ENTRIES], *counted[ENTRIES];
static long all_changes, sums[2];
static int null_device;

__attribute__((noinline)) static void change(struct entry *entry, long by) {
    entry->changes++;
    entry->sum += by;
}

__attribute__((noinline)) static unsigned long compute(unsigned long state) {
    for (int step = 0; step < 2000; step++) {
        state ^= state << 13; /* LONG */
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state;
}

static void *run(void *argument) {
    unsigned long state = 88172645463325252u + (unsigned long)argument;
    struct entry *own = malloc(sizeof *own);
    own->changes = own->sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        state = compute(state);
        unsigned long chosen = state % ENTRIES;

        pthread_mutex_lock(&table_lock);
        change(table[chosen], round);
        pthread_mutex_unlock(&table_lock);

        pthread_mutex_lock(&counted_lock);
        change(counted[chosen], round);
        all_changes++; /* COUNTER */
        pthread_mutex_unlock(&counted_lock);

        pthread_mutex_lock(&local_lock);
        change(own, round);
        pthread_mutex_unlock(&local_lock);

        pthread_mutex_lock(&long_lock);
        unsigned long found = compute(state);
        sums[0] += found & 1;
        sums[1] += found & 2;
        pthread_mutex_unlock(&long_lock);

        if (round % 10 == 0) {
            pthread_mutex_lock(&printing_lock);
            if (write(null_device, "x", 1) != 1) abort();
            pthread_mutex_unlock(&printing_lock);
        }
    }
    long done = own->changes;
    free(own);
    return (void *)done;
}

int main(void) {
    pthread_t threads[THREADS];
    null_device = open("/dev/null", O_WRONLY);
    for (int i = 0; i < ENTRIES; i++) {
        table[i] = calloc(1, sizeof *table[i]);
        counted[i] = calloc(1, sizeof *counted[i]); /* COUNTED */
    }
    for (long t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, run, (void *)t);
    long done = 0;
    for (int t = 0; t < THREADS; t++) {
        void *changes;
        pthread_join(threads[t], &changes);
        done += (long)changes;
    }
    printf("%ld\n", done + all_changes);
    return 0;
}
