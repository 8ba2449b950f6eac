// Two threads wait for each other for ever, and a third one ends the process.
#include "truth.h"
#include <signal.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_hold;

static void *work(void *argument) {
    pthread_mutex_t *mine = argument, *other = mine == &first ? &second : &first;
    pthread_mutex_lock(mine);
    pthread_barrier_wait(&both_hold);
    say("@%s %d", mine == &first ? "waits_for_second" : "waits_for_first", thread_number());
    pthread_mutex_lock(other);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    pthread_barrier_init(&both_hold, NULL, 2);
    say("@first %lu", (unsigned long)&first);
    say("@second %lu", (unsigned long)&second);
    pthread_create(&threads[0], NULL, work, &first);
    pthread_create(&threads[1], NULL, work, &second);
    sleep_ms(200);
    kill(getpid(), SIGKILL);
}
