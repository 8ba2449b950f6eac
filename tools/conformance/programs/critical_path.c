// The end of this run waits for the work of one thread, and then for another thread, which sleeps
// and works in turn. A third thread waits all the time, but the run does not wait for it.
#include "truth.h"

enum { SLEEPS = 30 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t parsed = PTHREAD_COND_INITIALIZER, never_needed = PTHREAD_COND_INITIALIZER;
static int is_parsed, is_over;

static void work(double for_seconds) {
    for (double began = seconds(); seconds() - began < for_seconds;)
        ;
}

static void *parse(void *argument) {
    double began = seconds();
    work(0.4);
    say("@parsed_us %lu", (unsigned long)((seconds() - began) * 1e6));
    pthread_mutex_lock(&lock);
    is_parsed = 1;
    pthread_cond_signal(&parsed);
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *send(void *argument) {
    pthread_mutex_lock(&lock);
    while (!is_parsed)
        pthread_cond_wait(&parsed, &lock);
    pthread_mutex_unlock(&lock);
    double slept = 0;
    for (int i = 0; i < SLEEPS; i++) {
        double began = seconds();
        usleep(20000);
        slept += seconds() - began;
        work(0.002);
    }
    say("@slept_us %lu", (unsigned long)(slept * 1e6));
    return argument;
}

static void *idle(void *argument) {
    pthread_mutex_lock(&lock);
    while (!is_over)
        pthread_cond_wait(&never_needed, &lock);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t threads[3];
    void *(*const bodies[3])(void *) = {send, parse, idle};
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, bodies[i], NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_lock(&lock);
    is_over = 1;
    pthread_cond_signal(&never_needed);
    pthread_mutex_unlock(&lock);
    pthread_join(threads[2], NULL);
    return 0;
}
