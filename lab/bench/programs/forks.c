// A server that forks for each request.
//
//     forks CHILDREN
//
// Two children run at a time. Each acquires a few locks and ends: every other child with _exit,
// which runs no exit handlers, and the others with exit. So each process lives only briefly.
//
// Prints the number of acquisitions of all processes together.
#include "common.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_ONCE = 2, LOCKS = 3, ROUNDS = 4 };

static pthread_mutex_t locks[LOCKS];

static long take_locks(void) {
    long taken = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (int l = 0; l < LOCKS; l++) {
            pthread_mutex_lock(&locks[l]);
            taken++;
            pthread_mutex_unlock(&locks[l]);
        }
    return taken;
}

static void start(long number) {
    pid_t child = fork();
    require(child >= 0, "fork");
    if (child != 0) return;
    int taken = (int)take_locks();
    number % 2 ? _exit(taken) : exit(taken);
}

// Waits for a child to end. Returns the number of its acquisitions.
static long end(void) {
    int status;
    require(wait(&status) > 0 && WIFEXITED(status), "a child ends in order");
    require(WEXITSTATUS(status) == ROUNDS * LOCKS, "a child takes its locks");
    return WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    require(argc == 2, "usage: forks CHILDREN");
    long children = count_argument(argv[1], AT_ONCE);
    for (int l = 0; l < LOCKS; l++) pthread_mutex_init(&locks[l], NULL);
    long taken = take_locks();
    for (long c = 0; c < children; c++) {
        if (c >= AT_ONCE) taken += end();
        start(c);
    }
    for (int c = 0; c < AT_ONCE; c++) taken += end();
    printf("%ld\n", taken);
    return 0;
}
