/* A store finds chunks that it has seen before in a hash table with a lock for each bucket. The
 * hash uses the bits of a chunk's key that hardly differ, so most chunks fall into a few
 * buckets, whose chains are long and whose locks are contended, while the other locks are idle.
 * (Modelled on dedup.)
 *
 * Fixed: a hash that uses all bits. */
#include "workload.h"

enum { BUCKETS = 256, CHUNKS = 4096 };
static const long LOOKUPS = 250000, PREPARING = 250;

struct chunk {
    struct chunk *next;
    uint64_t key;
    long seen;
};

static struct {
    _Alignas(CACHE_LINE) pthread_mutex_t lock;
    struct chunk *first;
} buckets[BUCKETS];
static struct chunk chunks[CHUNKS];

/* The lower 40 bits of a key are a sum of 8 bytes, so most of them hardly differ. */
static uint64_t key_of(unsigned number) {
    uint64_t bits = work(seed_of(number), 4), key = (uint64_t)number << 40;
    for (int byte = 0; byte < 8; byte++) key += bits >> 8 * byte & 255;
    return key;
}

static unsigned bucket_of(uint64_t key) {
    if (fixed) return (unsigned)((key * 0x9e3779b97f4a7c15u) >> 56) % BUCKETS;
    return (unsigned)(key >> 7 & 0xffffffff) % BUCKETS;
}

static void look_up(uint64_t key) {
    unsigned bucket = bucket_of(key);
    pthread_mutex_lock(&buckets[bucket].lock); /* FINDING asymmetric-contention */
    struct chunk *chunk = buckets[bucket].first;
    while (chunk->key != key) chunk = chunk->next;
    chunk->seen++;
    pthread_mutex_unlock(&buckets[bucket].lock);
}

static void *deduplicate(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    for (long i = 0; i < scaled(LOOKUPS); i++) {
        state = work(state, PREPARING);
        look_up(chunks[state % CHUNKS].key);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int bucket = 0; bucket < BUCKETS; bucket++)
        pthread_mutex_init(&buckets[bucket].lock, NULL);
    for (unsigned number = 0; number < CHUNKS; number++) {
        chunks[number].key = key_of(number);
        unsigned bucket = bucket_of(chunks[number].key);
        chunks[number].next = buckets[bucket].first;
        buckets[bucket].first = &chunks[number];
    }
    run_threads(deduplicate);
    long seen = 0;
    for (int i = 0; i < CHUNKS; i++) seen += chunks[i].seen;
    require(seen == threads * scaled(LOOKUPS), "chunks that were seen");
    return 0;
}
