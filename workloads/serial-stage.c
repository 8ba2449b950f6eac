/* A program corrects batches of records with several threads. Between two batches, its first thread
 * compresses and writes the corrected batch and reads the next one, while the other threads wait.
 * (Modelled on Lighter, issue 14.)
 *
 * Fixed: meanwhile the others correct the next batch. */
#include "workload.h"

enum { RECORDS = 64, BATCHES_AT_ONCE = 2 };
static const long BATCHES = 200, CORRECTING = 60000, COMPRESSING = 30000;

struct batch {
    uint64_t records[RECORDS];
    bool is_read, is_corrected;
};

static struct batch batches[BATCHES_AT_ONCE];
static pthread_barrier_t begin, end;
static long written, last_round;

__attribute__((noinline)) static void read_batch(struct batch *batch, long number) {
    for (int r = 0; r < RECORDS; r++) batch->records[r] = seed_of(number * RECORDS + r);
    batch->is_read = true;
    batch->is_corrected = false;
}

__attribute__((noinline))
static void compress_batch(struct batch *batch) { /* FINDING serial-stage */
    require(batch->is_read && batch->is_corrected, "a corrected batch");
    for (int r = 0; r < RECORDS; r++) batch->records[r] = work(batch->records[r], COMPRESSING);
    batch->is_read = false;
    written++;
}

/* A thread corrects every `threads`-th record of a batch, beginning with its own number. */
static void *correct(void *argument) {
    long own = (intptr_t)argument;
    for (long round = 0; round < last_round; round++) {
        pthread_barrier_wait(&begin);
        struct batch *batch = &batches[round % BATCHES_AT_ONCE];
        for (long r = own; batch->is_read && r < RECORDS; r += threads)
            batch->records[r] = work(batch->records[r], CORRECTING);
        pthread_barrier_wait(&end);
    }
    return NULL;
}

/* Each round, the threads correct one batch. With the problem, it is written before the next round
 * begins; otherwise during the next round. */
static void lead(void) {
    read_batch(&batches[0], 0);
    for (long round = 0; round < last_round; round++) {
        struct batch *this = &batches[round % BATCHES_AT_ONCE];
        struct batch *other = &batches[(round + 1) % BATCHES_AT_ONCE];
        pthread_barrier_wait(&begin);
        if (fixed) {
            if (round > 0) compress_batch(other);
            read_batch(other, round + 1);
        }
        pthread_barrier_wait(&end);
        this->is_corrected = true;
        if (!fixed) {
            compress_batch(this);
            read_batch(other, round + 1);
        }
    }
    if (fixed) compress_batch(&batches[(last_round - 1) % BATCHES_AT_ONCE]);
}

int main(int argc, char **argv) {
    threads = 2;
    read_arguments(argc, argv);
    last_round = scaled(BATCHES);
    pthread_barrier_init(&begin, NULL, threads + 1);
    pthread_barrier_init(&end, NULL, threads + 1);
    pthread_t started[MOST_THREADS];
    start_measuring();
    for (int t = 0; t < threads; t++) started[t] = start_thread(correct, t);
    lead();
    for (int t = 0; t < threads; t++) pthread_join(started[t], NULL);
    stop_measuring();
    require(written == last_round, "batches that were written");
    return 0;
}
