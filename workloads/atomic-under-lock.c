/* A thread that uses an item of a cache holds a reference to it, and drops it under the item's
 * lock. But the count of references is atomic, and nothing else is accessed: the lock protects
 * what needs no protection. (Modelled on memcached's item_remove.)
 *
 * Fixed: no lock. The counts still move between the processors. */
#include "workload.h"

enum { ITEMS = 4096, LOCKS = 1024 };
static const long REQUESTS = 6000000;

struct item {
    int references;
    bool free;
};

static struct item items[ITEMS];
static pthread_mutex_t item_locks[LOCKS];

static void item_get(struct item *item) {
    __atomic_add_fetch(&item->references, 1, __ATOMIC_RELAXED); /* REMAINS busy-atomics */
}

static void item_remove(struct item *item) {
    pthread_mutex_t *lock = &item_locks[(item - items) % LOCKS];
    pthread_mutex_lock(lock); /* FINDING already-exclusive */
    int left = __atomic_sub_fetch(&item->references, 1, __ATOMIC_ACQ_REL);
    pthread_mutex_unlock(lock);
    if (left == 0) item->free = true;
}

static void item_remove_without_lock(struct item *item) {
    int left = __atomic_sub_fetch(&item->references, 1, /* REMAINS busy-atomics */
                                  __ATOMIC_ACQ_REL);
    if (left == 0) item->free = true;
}

static void *answer(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    for (long request = 0; request < scaled(REQUESTS); request++) {
        state = work(state, 8);
        struct item *item = &items[state % ITEMS];
        item_get(item);
        if (fixed)
            item_remove_without_lock(item);
        else
            item_remove(item);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int i = 0; i < LOCKS; i++) pthread_mutex_init(&item_locks[i], NULL);
    for (int i = 0; i < ITEMS; i++) items[i].references = 1;
    run_threads(answer);
    for (int i = 0; i < ITEMS; i++)
        require(items[i].references == 1 && !items[i].free, "an item's references");
    return 0;
}
