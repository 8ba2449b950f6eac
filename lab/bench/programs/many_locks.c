// The memory that LOCKS mutexes take beyond their own bytes, after each was used once.
//
//     many_locks LOCKS
//
// Prints how many bytes the resident memory grows by while all mutexes are locked and unlocked for
// the first time. The pages of the mutexes are touched before that.
#include "common.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static long resident(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    long size, pages;
    require(file != NULL && fscanf(file, "%ld %ld", &size, &pages) == 2, "statm");
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv) {
    require(argc == 2, "usage: many_locks LOCKS");
    long count = count_argument(argv[1], 1);
    pthread_mutex_t *locks = malloc((size_t)count * sizeof *locks);
    require(locks != NULL, "malloc");
    for (long i = 0; i < count; i++) pthread_mutex_init(&locks[i], NULL);
    // The memory that the first query and the first lock allocate is not counted.
    resident();
    pthread_mutex_lock(&locks[0]);
    pthread_mutex_unlock(&locks[0]);
    long before = resident();
    for (long i = 0; i < count; i++) {
        pthread_mutex_lock(&locks[i]);
        pthread_mutex_unlock(&locks[i]);
    }
    printf("%ld\n", resident() - before);
    return 0;
}
