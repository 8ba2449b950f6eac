/* Threads append to a log whose entries are chained: each has a checksum that depends on the
 * previous one. The lock inherits priorities, so it goes to the thread that has waited longest,
 * and that thread sleeps. All threads come again before their turn, and every hand-over waits
 * until a sleeper is back on a processor.
 *
 * Fixed: a thread chains a hundred entries of its own, and then adds them to the log at once. */
#include "workload.h"

enum { BATCH = 100 };
static const long ENTRIES = 10000, PREPARING = 3000, CHAINING = 3000;

static struct {
    pthread_mutex_t lock;
    uint64_t checksum;
    long entries;
} chain = {.checksum = 1};

static void append(uint64_t entry, long entries) {
    pthread_mutex_lock(&chain.lock); /* FINDING convoy */
    chain.checksum = work((chain.checksum ^ entry) | 1, CHAINING);
    chain.entries += entries;
    pthread_mutex_unlock(&chain.lock);
}

static long entries_of_a_thread(void) { return scaled(ENTRIES / BATCH) * BATCH; }

static void *write_log(void *argument) {
    uint64_t state = seed_of((intptr_t)argument), own = 1;
    for (long entry = 1; entry <= entries_of_a_thread(); entry++) {
        state = work(state, PREPARING);
        if (!fixed) {
            append(state, 1);
            continue;
        }
        own = work((own ^ state) | 1, CHAINING);
        if (entry % BATCH == 0) append(own, BATCH);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&chain.lock, &attributes);
    run_threads(write_log);
    require(chain.entries == threads * entries_of_a_thread(), "entries in the chain");
    require(chain.checksum != 0, "a checksum");
    return 0;
}
