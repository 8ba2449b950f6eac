/* Each thread has a shard of a cache, with a lock on a cache line of its own, and visits
 * another's shard once in a while. */
#include "workload.h"

enum { SLOTS = 512 };
static const long REQUESTS = 1500000, PREPARING = 150;

struct shard {
    pthread_mutex_t lock;
    long hits[SLOTS] __attribute__((aligned(2 * CACHE_LINE)));
} __attribute__((aligned(2 * CACHE_LINE)));

static struct shard shards[MOST_THREADS];

static void visit(struct shard *shard, uint64_t key) {
    pthread_mutex_lock(&shard->lock);
    for (int probe = 0; probe < 8; probe++) shard->hits[(key + (uint64_t)probe * probe) % SLOTS]++;
    pthread_mutex_unlock(&shard->lock);
}

static void *serve(void *argument) {
    long own = (intptr_t)argument;
    uint64_t state = seed_of(own);
    for (long i = 0; i < scaled(REQUESTS); i++) {
        state = work(state, PREPARING);
        visit(&shards[state % 1000 == 0 ? (own + 1) % threads : own], state);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int t = 0; t < threads; t++) pthread_mutex_init(&shards[t].lock, NULL);
    run_threads(serve);
    long hits = 0;
    for (int t = 0; t < threads; t++)
        for (int slot = 0; slot < SLOTS; slot++) hits += shards[t].hits[slot];
    require(hits == 8 * threads * scaled(REQUESTS), "hits in all shards");
    return 0;
}
