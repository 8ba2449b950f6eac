// Threads that share one processor. Each is ready to run most of the time, and runs for the rest.
// Another thread sleeps, so it is neither ready nor running. At its end, each thread prints what
// the scheduler has counted for it.
#include "truth.h"
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>

enum { THREADS = 4, MILLISECONDS = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long now_ms(void) {
    struct timespec t = after(CLOCK_MONOTONIC, 0);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static unsigned long ready_ns(void) {
    char text[100] = "";
    unsigned long ran = 0, ready = 0;
    int file = open("/proc/thread-self/schedstat", O_RDONLY);
    REQUIRE(file >= 0 && read(file, text, sizeof text - 1) > 0);
    close(file);
    REQUIRE(sscanf(text, "%lu %lu", &ran, &ready) == 2);
    return ready;
}

static void *work(void *argument) {
    long number = (intptr_t)argument, until = now_ms() + MILLISECONDS;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    if (number == THREADS)
        sleep_ms(MILLISECONDS);
    while (number < THREADS && now_ms() < until)
        ;
    say("@tid_%ld %ld", number, (long)gettid());
    say("@ready_%ld %lu", number, ready_ns());
    return NULL;
}

int main(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    pthread_t threads[THREADS + 1];
    for (long i = 0; i <= THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i <= THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
