/* Files are sorted by size, and each thread gets equally many consecutive files, so the last thread
 * gets the large ones. After each pass all threads meet at a barrier, where the others wait for the
 * last thread.
 *
 * Fixed: files are dealt out one by one. */
#include "workload.h"

enum { FILES = 400 };
static const long PASSES = 12, LARGEST = 1500000;

static long sizes[FILES];
static long done[MOST_THREADS];
static pthread_barrier_t end_of_pass;

static void *index_files(void *argument) { /* FINDING unequal-threads */
    long own = (intptr_t)argument;
    uint64_t state = seed_of(own);
    for (long pass = 0; pass < scaled(PASSES); pass++) {
        long from = fixed ? own : FILES * own / threads;
        long to = fixed ? FILES : FILES * (own + 1) / threads;
        for (long file = from; file < to; file += fixed ? threads : 1) {
            state = work(state, sizes[file]);
            done[own]++;
        }
        pthread_barrier_wait(&end_of_pass); /* FINDING unequal-threads */
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    double size = LARGEST;
    for (int file = FILES - 1; file >= 0; file--, size *= 0.985) sizes[file] = (long)size;
    pthread_barrier_init(&end_of_pass, NULL, (unsigned)threads);
    run_threads(index_files);
    long sum = 0;
    for (int t = 0; t < threads; t++) sum += done[t];
    require(sum == FILES * scaled(PASSES), "files that were indexed");
    return 0;
}
