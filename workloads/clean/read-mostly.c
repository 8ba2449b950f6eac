/* A directory with many readers, under a reader-writer lock; now and then a thread that does
 * nothing else changes an entry. */
#include "workload.h"

enum { NAMES = 1024 };
static const long LOOKUPS = 500000, BETWEEN = 300, CHANGES = 20, PAUSE = 15000000;

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static uint64_t names[NAMES];
static long versions[NAMES];
static long found[MOST_THREADS];

static bool is_known(uint64_t name) {
    int low = 0, high = NAMES;
    pthread_rwlock_rdlock(&lock);
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (names[middle] <= name)
            low = middle;
        else
            high = middle;
    }
    bool known = names[low] == name && versions[low] > 0;
    pthread_rwlock_unlock(&lock);
    return known;
}

static void *look_up(void *argument) {
    long own = (intptr_t)argument, count = 0;
    uint64_t state = seed_of(own);
    for (long i = 0; i < scaled(LOOKUPS); i++) {
        state = work(state, BETWEEN);
        count += is_known(state % NAMES * 10);
    }
    found[own] = count;
    return NULL;
}

static void *change(void *argument) {
    const struct timespec pause = {0, PAUSE};
    (void)argument;
    for (long i = 0; i < scaled(CHANGES); i++) {
        nanosleep(&pause, NULL);
        pthread_rwlock_wrlock(&lock);
        for (int name = 0; name < NAMES; name += 16) versions[name]++;
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int i = 0; i < NAMES; i++) {
        names[i] = (uint64_t)i * 10;
        versions[i] = 1;
    }
    pthread_t changer = start_thread(change, 0);
    run_threads(look_up);
    pthread_join(changer, NULL);
    for (int t = 0; t < threads; t++) require(found[t] == scaled(LOOKUPS), "names that are known");
    require(versions[0] == 1 + scaled(CHANGES), "changes of an entry");
    return 0;
}
