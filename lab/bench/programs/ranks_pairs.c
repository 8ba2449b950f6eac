/* Acquires and releases a mutex, as often as the argument says, and changes a number in between. No
 * other thread waits for the mutex. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long number;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    long pairs = argc > 1 ? atol(argv[1]) : 1;
    double start = seconds();
    for (long i = 0; i < pairs; i++) {
        pthread_mutex_lock(&lock);
        number++;
        pthread_mutex_unlock(&lock);
    }
    double time = seconds() - start;
    printf("pairs: %s, %.6f s\n", number == pairs ? "verified" : "WRONG", time);
    return number != pairs;
}
