/* A program with data races, for `syncline cluster --check`; with an argument, without them. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long padding[1000], counter;
static volatile long table[100];
static int locked;

static void *body(void *argument) {
    long me = (long)argument;
    for (int round = 1; round < 20; round++) {
        if (locked) pthread_mutex_lock(&lock);
        /* Both ranks have the pages before one of them writes. */
        long before = counter;
        (void)table[7];
        usleep(2000);
        counter = before + me;
        table[7] = me * 1000 + round;
        padding[me] = round;
        if (locked) pthread_mutex_unlock(&lock);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv) {
    (void)argv;
    locked = argc > 1;
    pthread_t threads[2];
    pthread_barrier_init(&barrier, NULL, 2);
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("done\n");
    return 0;
}
