/* One lock protects a cache: finding, storing and dropping an item each take it, so the threads'
 * waiting is spread over three call sites. The items' memory still has a lock of its own, which is
 * only taken under the cache's lock and so excludes nothing. A background thread uses the cache's
 * lock to wait for the table to grow (the shape of memcached 1.4.4's cache_lock).
 *
 * Fixed: the cache has parts, each with a lock. */
#include "workload.h"

enum { PARTS = 64, ITEMS = 1 << 14, HELD = 450 };
static const long ROUNDS = 60000, BETWEEN = 500;

static struct part {
    _Alignas(CACHE_LINE) pthread_mutex_t lock;
    uint64_t items[ITEMS / PARTS];
    long stored, dropped;
} parts[PARTS];
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t grow = PTHREAD_COND_INITIALIZER;
static bool stop;
static long pages;

static struct part *part_of(uint64_t item) {
    return &parts[fixed ? item % PARTS : 0];
}

static uint64_t *place_of(struct part *part, uint64_t item) {
    return &part->items[item / PARTS % (ITEMS / PARTS)];
}

static bool find(uint64_t item) {
    struct part *part = part_of(item);
    pthread_mutex_lock(&part->lock); /* FINDING too-much-data */
    bool found = *place_of(part, work(item, HELD)) == item;
    pthread_mutex_unlock(&part->lock);
    return found;
}

static void store(uint64_t item) {
    struct part *part = part_of(item);
    pthread_mutex_lock(&part->lock); /* FINDING too-much-data */
    if (!fixed) {
        pthread_mutex_lock(&memory_lock);
        pages++;
        pthread_mutex_unlock(&memory_lock);
    }
    *place_of(part, work(item, HELD)) = item;
    part->stored++;
    pthread_mutex_unlock(&part->lock);
}

static void drop(uint64_t item) {
    struct part *part = part_of(item);
    pthread_mutex_lock(&part->lock); /* FINDING too-much-data */
    *place_of(part, work(item, HELD)) = 0;
    part->dropped++;
    pthread_mutex_unlock(&part->lock);
}

static void *maintain(void *argument) {
    pthread_mutex_lock(&parts[0].lock);
    while (!stop) pthread_cond_wait(&grow, &parts[0].lock);
    pthread_mutex_unlock(&parts[0].lock);
    return argument;
}

static void *serve(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    for (long i = 0; i < scaled(ROUNDS); i++) {
        state = work(state, BETWEEN);
        uint64_t item = state % ITEMS + 1;
        if (!find(item)) store(item);
        else drop(item);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int i = 0; i < PARTS; i++) pthread_mutex_init(&parts[i].lock, NULL);
    pthread_t maintainer;
    pthread_create(&maintainer, NULL, maintain, NULL);
    run_threads(serve);
    pthread_mutex_lock(&parts[0].lock);
    stop = true;
    pthread_cond_signal(&grow);
    pthread_mutex_unlock(&parts[0].lock);
    pthread_join(maintainer, NULL);
    long changed = 0;
    for (int i = 0; i < PARTS; i++) changed += parts[i].stored + parts[i].dropped;
    require(changed == threads * scaled(ROUNDS), "items stored or dropped");
    return 0;
}
