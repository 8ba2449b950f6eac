// A thread is cancelled at once (asynchronously) while it waits for a lock and holds another one.
// The call never returns. The clean-up handler that releases the outer lock is called from the
// function that waited, with the stack pointer of that wait.
#include "truth.h"
#include <semaphore.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, taken = PTHREAD_MUTEX_INITIALIZER;
static sem_t ready;

static void *work(void *argument) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_mutex_lock(&outer);
    pthread_cleanup_push((void (*)(void *))pthread_mutex_unlock, &outer);
    sem_post(&ready);
    pthread_mutex_lock(&taken);
    say("it got the lock");
    pthread_cleanup_pop(0);
    return argument;
}

int main(void) {
    enum { TIMES = 5 };
    REQUIRE(sem_init(&ready, 0, 0) == 0 && pthread_mutex_lock(&taken) == 0);
    for (int time = 0; time < TIMES; time++) {
        pthread_t thread;
        void *result;
        REQUIRE(pthread_create(&thread, NULL, work, NULL) == 0 && sem_wait(&ready) == 0);
        sleep_ms(20);
        REQUIRE(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
        say("cancelled %d, free %d", result == PTHREAD_CANCELED, pthread_mutex_trylock(&outer) == 0);
        REQUIRE(pthread_mutex_unlock(&outer) == 0);
    }
    return 0;
}
