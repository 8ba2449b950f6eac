/* A search for similar pictures has three stages with queues between them. All stages have the
 * same number of threads, but ranking, which asks a far-away index, takes many times as long as
 * loading and extracting: its queue is always full, and the threads of the other stages wait.
 * (Modelled on ferret.)
 *
 * Fixed: the same number of threads, most of them for ranking. */
#include "workload.h"

enum { STAGES = 3, ROOM = 16 };
static const long PICTURES = 1600, LOADING = 50000, EXTRACTING = 75000, RANKING = 60000;
static const long INDEX_NANOSECONDS = 2000000;

/* A queue with room for a few pictures. An entry 0 ends the thread that takes it. */
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    long entries[ROOM];
    int first, count;
};

static struct queue queues[STAGES - 1];
static long loaded, ranked, next_picture;

static void put(struct queue *queue, long entry) {
    pthread_mutex_lock(&queue->lock);
    while (queue->count == ROOM) pthread_cond_wait(&queue->not_full, &queue->lock);
    queue->entries[(queue->first + queue->count++) % ROOM] = entry;
    pthread_cond_signal(&queue->not_empty);
    pthread_mutex_unlock(&queue->lock);
}

static long take(struct queue *queue) {
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0) pthread_cond_wait(&queue->not_empty, &queue->lock);
    long entry = queue->entries[queue->first];
    queue->first = (queue->first + 1) % ROOM;
    queue->count--;
    pthread_cond_signal(&queue->not_full);
    pthread_mutex_unlock(&queue->lock);
    return entry;
}

static void *load(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    while (__atomic_fetch_add(&next_picture, 1, __ATOMIC_RELAXED) < scaled(PICTURES)) {
        state = work(state, LOADING);
        put(&queues[0], 1);
        __atomic_fetch_add(&loaded, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void *extract(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    while (take(&queues[0]) != 0) {
        state = work(state, EXTRACTING);
        put(&queues[1], 1);
    }
    return NULL;
}

static void *rank(void *argument) { /* FINDING unequal-groups */
    uint64_t state = seed_of((intptr_t)argument);
    const struct timespec index = {0, INDEX_NANOSECONDS};
    while (take(&queues[1]) != 0) {
        state = work(state, RANKING);
        nanosleep(&index, NULL);
        __atomic_fetch_add(&ranked, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

int main(int argc, char **argv) {
    threads = 9;
    read_arguments(argc, argv);
    int each = threads < STAGES ? 1 : threads / STAGES;
    int counts[STAGES] = {each, each, each};
    if (fixed && each > 1) {
        counts[0] = counts[1] = 1;
        counts[2] = STAGES * each - 2;
    }
    for (int q = 0; q < STAGES - 1; q++) {
        pthread_mutex_init(&queues[q].lock, NULL);
        pthread_cond_init(&queues[q].not_empty, NULL);
        pthread_cond_init(&queues[q].not_full, NULL);
    }
    static void *(*const stages[STAGES])(void *) = {load, extract, rank};
    pthread_t started[STAGES][MOST_THREADS];
    start_measuring();
    for (int stage = 0; stage < STAGES; stage++)
        for (int t = 0; t < counts[stage]; t++)
            started[stage][t] = start_thread(stages[stage], stage * MOST_THREADS + t);
    for (int stage = 0; stage < STAGES; stage++) {
        for (int t = 0; t < counts[stage]; t++) pthread_join(started[stage][t], NULL);
        if (stage + 1 < STAGES)
            for (int t = 0; t < counts[stage + 1]; t++) put(&queues[stage], 0);
    }
    stop_measuring();
    require(loaded == scaled(PICTURES) && ranked == loaded, "pictures that were ranked");
    return 0;
}
