// Very short sections under two locks: tiles of a picture, which threads take from queues.
//
//     tiles FRAMES
//
// The structure is that of Splash's volrend. Each thread has a queue of tiles, and takes the next
// tile under the queue's lock. When its own queue is empty, it takes from the other thread's queue,
// so threads seldom want the same lock. A tile is a ray through a medium, which takes about a
// hundred nanoseconds.
//
// Prints the number of acquisitions.
#include "common.h"

#include <pthread.h>

enum { THREADS = 2, TILES = 50000, STEPS = 48 };

static struct queue {
    _Alignas(64) pthread_mutex_t mutex;
    long next;
} queues[THREADS];

static struct share {
    _Alignas(64) long taken, done;
    double light;
} shares[THREADS];

static long frames;
static pthread_barrier_t line;

// The next tile of a queue; -1 if the queue is empty.
static long take(struct queue *queue, struct share *share) {
    pthread_mutex_lock(&queue->mutex);
    long tile = queue->next < TILES ? queue->next++ : -1;
    pthread_mutex_unlock(&queue->mutex);
    share->taken++;
    return tile;
}

static double ray(long tile) {
    double left = 1, at = (double)tile / TILES;
    for (int s = 0; s < STEPS; s++) {
        at = 3.7 * at * (1 - at); // never the same twice, and in no table
        left *= 1 - at / STEPS;
    }
    return left;
}

static void *work(void *own) {
    struct share *share = own;
    int thread = (int)(share - shares);
    for (long frame = 0; frame < frames; frame++) {
        for (int q = 0; q < THREADS; q++) {
            long tile;
            while ((tile = take(&queues[(thread + q) % THREADS], share)) >= 0) {
                share->light += ray(tile);
                share->done++;
            }
        }
        pthread_barrier_wait(&line);
        queues[thread].next = 0;
        pthread_barrier_wait(&line);
    }
    return NULL;
}

int main(int argc, char **argv) {
    require(argc == 2, "usage: tiles FRAMES");
    frames = count_argument(argv[1], 1);
    pthread_barrier_init(&line, NULL, THREADS);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        pthread_mutex_init(&queues[t].mutex, NULL);
    }
    for (int t = 0; t < THREADS; t++)
        require(pthread_create(&threads[t], NULL, work, &shares[t]) == 0, "pthread_create");
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    require(shares[0].done + shares[1].done == frames * THREADS * TILES, "every tile is done once");
    require(shares[0].light + shares[1].light > 0, "some light is left");
    printf("%ld\n", shares[0].taken + shares[1].taken);
    return 0;
}
