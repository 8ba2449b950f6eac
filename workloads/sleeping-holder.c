/* Threads append records to a journal. The thread that fills the buffer writes it to a slow
 * device, and holds the journal's lock meanwhile: the others wait for the device too, and the
 * processors are idle.
 *
 * Fixed: the full buffer is exchanged for an empty one, and written after the section. */
#include "workload.h"

enum { RECORDS_IN_BUFFER = 8 };
static const long RECORDS = 400, STEPS = 400000;
static const long DEVICE_NANOSECONDS = 5000000;

static struct {
    pthread_mutex_t lock;
    long buffer[RECORDS_IN_BUFFER];
    int count;
} journal = {PTHREAD_MUTEX_INITIALIZER, {0}, 0};
static long on_device;

static void write_to_device(const long *records) {
    const struct timespec device = {0, DEVICE_NANOSECONDS};
    nanosleep(&device, NULL);
    for (int i = 0; i < RECORDS_IN_BUFFER; i++)
        __atomic_fetch_add(&on_device, records[i], __ATOMIC_RELAXED);
}

static void append(long record) {
    long full[RECORDS_IN_BUFFER];
    bool is_full = false;
    pthread_mutex_lock(&journal.lock); /* FINDING sleeping-holder */
    journal.buffer[journal.count++] = record;
    if (journal.count == RECORDS_IN_BUFFER) {
        if (fixed) {
            memcpy(full, journal.buffer, sizeof full);
            is_full = true;
        } else {
            write_to_device(journal.buffer);
        }
        journal.count = 0;
    }
    pthread_mutex_unlock(&journal.lock);
    if (is_full) write_to_device(full);
}

static void *produce(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    for (long record = 0; record < scaled(RECORDS); record++) {
        state = work(state, STEPS);
        append(1);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    run_threads(produce);
    require(on_device + journal.count == threads * scaled(RECORDS), "records in the journal");
    return 0;
}
