/* Threads that count together: a lock, and a condition to wait for.
 *
 *     cc counter.c -o counter $(pkg-config --cflags --libs syncline) -pthread
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <syncline.h>

enum { THREADS = 4, ROUNDS = 100000 };

static syncline_gate_t lock = SYNCLINE_GATE_INIT;
static syncline_cond_t finished = SYNCLINE_COND_INIT;
static long total;
static int threads_done;

static void expect(int error) {
    if (error != 0) {
        fprintf(stderr, "counter: %s\n", syncline_strerror(error));
        exit(1);
    }
}

static void *count(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        expect(syncline_gate_lock(&lock));
        total += 1;
        expect(syncline_gate_unlock(&lock));
    }
    expect(syncline_gate_lock(&lock));
    threads_done += 1;
    expect(syncline_cond_signal(&finished));
    expect(syncline_gate_unlock(&lock));
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) expect(pthread_create(&threads[i], NULL, count, NULL));

    expect(syncline_gate_lock(&lock));
    while (threads_done < THREADS) expect(syncline_gate_wait(&lock, &finished));
    printf("counted to %ld\n", total);
    expect(syncline_gate_unlock(&lock));

    for (int i = 0; i < THREADS; i++) expect(pthread_join(threads[i], NULL));
}
