/* A hash table with a lock for every few buckets, and keys that spread well: there are many
 * acquisitions, but few of each lock, and hardly any thread waits. */
#include "workload.h"

enum { BUCKETS = 4096, STRIPES = 512, KEYS = 16384 };
static const long OPERATIONS = 1500000, PREPARING = 150;

struct entry {
    struct entry *next;
    unsigned long key, value;
};

static struct {
    pthread_mutex_t lock;
} __attribute__((aligned(2 * CACHE_LINE))) stripes[STRIPES];
static struct entry *buckets[BUCKETS];
static struct entry entries[KEYS];

static unsigned bucket_of(unsigned long key) {
    return (unsigned)((key * 0x9e3779b97f4a7c15u) >> 48) % BUCKETS;
}

static void add(unsigned long key, unsigned long amount) {
    unsigned bucket = bucket_of(key);
    pthread_mutex_t *lock = &stripes[bucket % STRIPES].lock;
    pthread_mutex_lock(lock);
    struct entry *entry = buckets[bucket];
    while (entry->key != key) entry = entry->next;
    entry->value += amount;
    pthread_mutex_unlock(lock);
}

static void *operate(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    for (long i = 0; i < scaled(OPERATIONS); i++) {
        state = work(state, PREPARING);
        add(state % KEYS, 3);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int i = 0; i < STRIPES; i++) pthread_mutex_init(&stripes[i].lock, NULL);
    for (unsigned long key = 0; key < KEYS; key++) {
        entries[key] = (struct entry){buckets[bucket_of(key)], key, 0};
        buckets[bucket_of(key)] = &entries[key];
    }
    run_threads(operate);
    unsigned long sum = 0;
    for (int i = 0; i < KEYS; i++) sum += entries[i].value;
    require(sum == 3 * (unsigned long)(threads * scaled(OPERATIONS)), "amounts in the table");
    return 0;
}
