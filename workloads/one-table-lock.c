/* A cache keeps its items in a hash table, and one lock protects all of it: chains, counts and
 * values in all buckets. (Modelled on memcached 1.4's cache_lock.)
 *
 * Fixed: an array of locks, each for its share of the buckets. */
#include "workload.h"

enum { BUCKETS = 8192, ITEMS = 32768, LOCKS = 1024, VALUE = 256 };
static const long REQUESTS = 700000, PARSING = 120;

struct item {
    struct item *next;
    unsigned long key, reads;
    char value[VALUE];
};

static struct item items[ITEMS];
static struct item *buckets[BUCKETS];
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t item_locks[LOCKS] __attribute__((aligned(CACHE_LINE)));

static unsigned bucket_of(unsigned long key) {
    return (unsigned)((key * 0x9e3779b97f4a7c15u) >> 40) % BUCKETS;
}

static struct item *find(unsigned long key) {
    struct item *item = buckets[bucket_of(key)];
    while (item->key != key) item = item->next;
    return item;
}

/* Copies a key's value out of the table, or a new value into it. */
static void serve(unsigned long key, bool store, char *value) {
    pthread_mutex_t *lock = fixed ? &item_locks[bucket_of(key) % LOCKS] : &cache_lock;
    pthread_mutex_lock(lock); /* FINDING too-much-data */
    struct item *item = find(key);
    item->reads++;
    if (store)
        memcpy(item->value, value, VALUE);
    else
        memcpy(value, item->value, VALUE);
    pthread_mutex_unlock(lock);
}

static void *answer(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    char value[VALUE] = "a value";
    for (long request = 0; request < scaled(REQUESTS); request++) {
        state = work(state, PARSING);
        serve(state % ITEMS, request % 10 == 0, value);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int i = 0; i < LOCKS; i++) pthread_mutex_init(&item_locks[i], NULL);
    for (unsigned long key = 0; key < ITEMS; key++) {
        items[key].key = key;
        items[key].next = buckets[bucket_of(key)];
        buckets[bucket_of(key)] = &items[key];
    }
    run_threads(answer);
    unsigned long reads = 0;
    for (int i = 0; i < ITEMS; i++) reads += items[i].reads;
    require(reads == (unsigned long)(threads * scaled(REQUESTS)), "requests that were served");
    return 0;
}
