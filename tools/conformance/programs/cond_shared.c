// A condition variable that processes share. While one thread waits with a mutex, another waits
// with a second mutex of another kind: one of the two mutexes is shared by processes, and the other
// is not. The argument says how that second wait ends. In any case, the mutex must be held
// afterwards, and the first thread must get its notification.
#include "truth.h"

static pthread_mutex_t mutexes[2];
static pthread_cond_t cond;
static int waiting, told;

static void *wait_with(void *mutex) {
    REQUIRE(pthread_mutex_lock(mutex) == 0);
    waiting = 1;
    int error = 0;
    while (!told && error == 0)
        error = pthread_cond_wait(&cond, mutex);
    REQUIRE(pthread_mutex_unlock(mutex) == 0);
    return (void *)error_name(error);
}

static const char *wait_briefly(pthread_mutex_t *mutex) {
    REQUIRE(pthread_mutex_lock(mutex) == 0);
    struct timespec soon = after(CLOCK_REALTIME, 30);
    int error = pthread_cond_timedwait(&cond, mutex, &soon);
    REQUIRE(pthread_mutex_trylock(mutex) == EBUSY);
    REQUIRE(pthread_mutex_unlock(mutex) == 0);
    return error_name(error);
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutex_init(&mutexes[0], &attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&mutexes[1], &attributes);
    pthread_condattr_t shared;
    pthread_condattr_init(&shared);
    pthread_condattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&cond, &shared);
    for (int round = 0; round < 4; round++) {
        pthread_mutex_t *first = &mutexes[round % 2], *second = &mutexes[1 - round % 2];
        pthread_t thread;
        void *error;
        waiting = told = 0;
        REQUIRE(pthread_create(&thread, NULL, wait_with, first) == 0);
        for (int there = 0; !there; usleep(1000)) {
            pthread_mutex_lock(first);
            there = waiting;
            pthread_mutex_unlock(first);
        }
        const char *refused = wait_briefly(second);
        say("the second mutex: %s", strcmp(refused, argv[1]) == 0 ? "as expected" : refused);
        pthread_mutex_lock(first);
        told = 1;
        pthread_cond_signal(&cond);
        pthread_mutex_unlock(first);
        pthread_join(thread, &error);
        say("the first: %s", (char *)error);
        // No thread waits any more, so either mutex can be used.
        say("alone: %s", wait_briefly(second));
        say("alone: %s", wait_briefly(first));
    }
    say("destroyed %s", error_name(pthread_cond_destroy(&cond)));
    return 0;
}
