// A process that ends while its threads use locks all the time: dies MANNER.
//
// Every thread prints how often it has locked, and then continues to lock. When all threads have
// printed that, the process ends. The recording must have at least the printed counts.
#include "truth.h"
#include <signal.h>

enum { THREADS = 3, ROUNDS = 5000 };

static pthread_mutex_t own[THREADS];
static pthread_barrier_t said;
static const char *manner;
static volatile int *volatile nowhere = (int *)8;

static void end(void) {
    switch (manner[0]) {
    case 'v':
        // First a child that runs in this process's memory ends.
        if (vfork() == 0)
            _exit(9);
        kill(getpid(), SIGKILL);
        break;
    case 'k':
        kill(getpid(), SIGKILL);
        break;
    case 's':
        *nowhere = 1;
        break;
    case 'a':
        abort();
    case '_':
        _exit(3);
    case 'e':
        exit(4);
    case 'q':
        quick_exit(5);
    }
}

static void *work(void *argument) {
    long number = (long)argument;
    pthread_mutex_t *m = &own[number];
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(m);
        pthread_mutex_unlock(m);
    }
    say("@%d %d MutexLock %p %d+", (int)getpid(), thread_number(), (void *)m, ROUNDS);
    pthread_barrier_wait(&said);
    for (long i = 0;; i++) {
        pthread_mutex_lock(m);
        pthread_mutex_unlock(m);
        if (number == 1 && i == 1000)
            end();
    }
    return NULL;
}

int main(int count, char **arguments) {
    manner = count > 1 ? arguments[1] : "";
    alarm(20);
    pthread_barrier_init(&said, NULL, THREADS);
    for (long i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_mutex_init(&own[i], NULL);
        expect("MutexInit", &own[i], 1);
        REQUIRE(pthread_create(&thread, NULL, work, (void *)i) == 0);
    }
    for (;;)
        pause();
}
