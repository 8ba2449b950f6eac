/* Readers constantly use the size and the start of a table, without a lock: both change only when
 * the table grows. A collector counts under a lock, millions of times a second, and the lock is on
 * the same cache line. Each time the collector takes the lock, the readers lose the line.
 *
 * Fixed: the lock lies elsewhere, on a line of its own. The collector may have more to do. */
#include "workload.h"

enum { ENTRIES = 1024, BINS = 64 };
static const long LOOKUPS = 100000000, COUNTS = 15000000;

/* Variables on one cache line, as happens to variables of a larger program. */
static const unsigned *table;
static unsigned table_size;
static pthread_mutex_t count_lock __attribute__((aligned(CACHE_LINE))) = PTHREAD_MUTEX_INITIALIZER;

static struct {
    pthread_mutex_t lock;
} __attribute__((aligned(2 * CACHE_LINE))) padded = {PTHREAD_MUTEX_INITIALIZER};

static unsigned entries[ENTRIES];
static long bins[BINS];
static unsigned long found[MOST_THREADS];

static unsigned look_up(unsigned key) {
    unsigned size = __atomic_load_n(&table_size, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&table, __ATOMIC_ACQUIRE)[key & (size - 1)];
}

static void count(uint64_t sample) {
    pthread_mutex_t *lock = fixed ? &padded.lock : &count_lock;
    pthread_mutex_lock(lock); /* FINDING lock-beside-data */
    for (int i = 0; i < 8; i++) bins[sample >> 8 * i & (BINS - 1)]++;
    pthread_mutex_unlock(lock);
}

static void collect(uint64_t state) {
    for (long i = 0; i < scaled(COUNTS); i++) {
        state = work(state, 10);
        count(state);
    }
}

static long lookups_of_a_reader(void) { return scaled(LOOKUPS) / (threads - 1); }

static void read_table(uint64_t state, long own) {
    unsigned long sum = 0;
    for (long i = 0; i < lookups_of_a_reader(); i++) {
        state = work(state, 1);
        sum += look_up((unsigned)(state >> 32));
    }
    found[own] = sum;
}

static void *run(void *argument) { /* REMAINS unequal-threads */
    long own = (intptr_t)argument;
    if (own == 0)
        collect(seed_of(own));
    else
        read_table(seed_of(own), own);
    return NULL;
}

int main(int argc, char **argv) {
    threads = 2;
    read_arguments(argc, argv);
    require(threads > 1, "a collector and a reader");
    require((uintptr_t)&count_lock / CACHE_LINE == (uintptr_t)&table / CACHE_LINE, "one line");
    for (int i = 0; i < ENTRIES; i++) entries[i] = 1;
    table_size = ENTRIES;
    table = entries;
    run_threads(run);
    long counted = 0;
    for (int i = 0; i < BINS; i++) counted += bins[i];
    require(counted == 8 * scaled(COUNTS), "samples that were counted");
    for (int t = 1; t < threads; t++)
        require((long)found[t] == lookups_of_a_reader(), "entries that were found");
    return 0;
}
