/* Threads store items in a table that has a lock for each bucket, and one for the list of all
 * items. A function that is inlined everywhere takes both kinds of lock by trying until it succeeds
 * (the shape of memcached 1.4.15's mutex_lock). Threads rarely meet at buckets but often at the
 * list. There the holder may have to wait for a processor that is busy with tries.
 *
 * Fixed: the function waits. */
#include "workload.h"

enum { BUCKETS = 4096, KEPT = 8, HELD = 100 };
static const long STORED = 60000, BETWEEN = 2500;

static struct bucket {
    pthread_mutex_t lock;
    long stored;
    uint64_t kept[KEPT];
} buckets[BUCKETS];
static struct {
    _Alignas(2 * CACHE_LINE) pthread_mutex_t lock;
    long items;
    uint64_t newest;
    _Alignas(2 * CACHE_LINE) char end;
} list = {.lock = PTHREAD_MUTEX_INITIALIZER, .newest = 1};

static inline __attribute__((always_inline)) void take(pthread_mutex_t *lock) {
    if (fixed) {
        pthread_mutex_lock(lock);
        return;
    }
    while (pthread_mutex_trylock(lock) != 0) { /* FINDING polling-try */
    }
}

static inline __attribute__((always_inline)) void give(pthread_mutex_t *lock) {
    pthread_mutex_unlock(lock);
}

static void link_item(uint64_t item) {
    take(&list.lock);
    list.newest = work(list.newest ^ item, HELD) | 1;
    list.items++;
    give(&list.lock);
}

static void unlink_oldest(void) {
    take(&list.lock);
    list.newest = work(list.newest, HELD) | 1;
    list.items--;
    give(&list.lock);
}

static void *store(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    for (long i = 0; i < scaled(STORED); i++) {
        state = work(state, BETWEEN);
        struct bucket *bucket = &buckets[state % BUCKETS];
        take(&bucket->lock);
        bucket->stored++;
        for (int kept = KEPT - 1; kept > 0; kept--) bucket->kept[kept] = bucket->kept[kept - 1];
        bucket->kept[0] = state;
        give(&bucket->lock);
        link_item(state);
        if (i % 2 == 1) unlink_oldest();
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int i = 0; i < BUCKETS; i++) pthread_mutex_init(&buckets[i].lock, NULL);
    run_threads(store);
    long stored = 0;
    for (int i = 0; i < BUCKETS; i++) stored += buckets[i].stored;
    require(stored == threads * scaled(STORED), "items in buckets");
    require(list.items == threads * (scaled(STORED) - scaled(STORED) / 2), "items in the list");
    return 0;
}
