// A server of items: requests through a queue, two workers, and answers through another queue.
//
//     server REQUESTS
//
// A client puts requests into a queue with a mutex and a condition variable, and has at most 256
// requests in progress. A worker takes a request, hashes its text, changes the item under one of
// 4,096 locks, adds it to the list of recent items, counts it, and answers. The list and the
// counter each have a lock that all workers share. So a request makes seven acquisitions, most of
// them of free locks.
//
// Prints the number of acquisitions.
#include "common.h"

#include <pthread.h>

enum { ITEMS = 4096, WORKERS = 2, UNDER_WAY = 256, TEXT_BYTES = 512, RECENT = 64 };
enum { LAST = 0 }; // the request that ends a worker

static struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    long requests[UNDER_WAY + WORKERS];
    unsigned put, got;
} requests, answers;

static struct {
    pthread_mutex_t mutex;
    long reads;
} items[ITEMS];

static pthread_mutex_t recent_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t recent[RECENT];
static unsigned newest;

static pthread_mutex_t statistics_lock = PTHREAD_MUTEX_INITIALIZER;
static long served;

static _Thread_local long taken;
static long all_taken[WORKERS];

static void put(struct queue *queue, long request) {
    pthread_mutex_lock(&queue->mutex);
    taken++;
    queue->requests[queue->put++ % (UNDER_WAY + WORKERS)] = request;
    pthread_mutex_unlock(&queue->mutex);
    pthread_cond_signal(&queue->filled);
}

static long get(struct queue *queue) {
    pthread_mutex_lock(&queue->mutex);
    taken++;
    while (queue->got == queue->put) pthread_cond_wait(&queue->filled, &queue->mutex);
    long request = queue->requests[queue->got++ % (UNDER_WAY + WORKERS)];
    pthread_mutex_unlock(&queue->mutex);
    return request;
}

// The FNV-1a hash of a text that is derived from the request's number.
static uint64_t hash(long request) {
    uint64_t state = (uint64_t)request, hash = 0xcbf29ce484222325;
    for (int i = 0; i < TEXT_BYTES; i += 8)
        for (uint64_t word = next_random(&state); word != 0; word >>= 8)
            hash = (hash ^ (word & 0xff)) * 0x100000001b3;
    return hash;
}

static void serve(long request) {
    uint64_t key = hash(request);
    pthread_mutex_lock(&items[key % ITEMS].mutex);
    items[key % ITEMS].reads++;
    pthread_mutex_unlock(&items[key % ITEMS].mutex);
    pthread_mutex_lock(&recent_lock);
    recent[newest++ % RECENT] = key;
    pthread_mutex_unlock(&recent_lock);
    pthread_mutex_lock(&statistics_lock);
    served++;
    pthread_mutex_unlock(&statistics_lock);
    taken += 3;
    put(&answers, request);
}

static void *work(void *own) {
    long request;
    while ((request = get(&requests)) != LAST) serve(request);
    *(long *)own = taken;
    return NULL;
}

int main(int argc, char **argv) {
    require(argc == 2, "usage: server REQUESTS");
    long count = count_argument(argv[1], 1);
    for (int i = 0; i < ITEMS; i++) pthread_mutex_init(&items[i].mutex, NULL);
    pthread_t workers[WORKERS];
    for (int w = 0; w < WORKERS; w++)
        require(pthread_create(&workers[w], NULL, work, &all_taken[w]) == 0, "pthread_create");

    long asked = 0, sum = 0;
    for (long answered = 0; answered < count; answered++) {
        while (asked < count && asked - answered < UNDER_WAY) put(&requests, ++asked);
        sum += get(&answers);
    }
    for (int w = 0; w < WORKERS; w++) put(&requests, LAST);
    for (int w = 0; w < WORKERS; w++) pthread_join(workers[w], NULL);

    long reads = 0;
    for (int i = 0; i < ITEMS; i++) reads += items[i].reads;
    require(sum == count * (count + 1) / 2, "every request is answered once");
    require(reads == count && served == count, "no count is lost");
    for (int w = 0; w < WORKERS; w++) taken += all_taken[w];
    printf("%ld\n", taken);
    return 0;
}
