// A program to which Syncline attaches. Its threads wait on a condition variable, and acquire a
// lock many times for each line of standard input. For each line, the program prints how often the
// threads have acquired that lock so far, by its own count.
#include <pthread.h>
#include <stdio.h>

#define THREADS 4
#define LOCKS 10000

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER, counted = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begins = PTHREAD_COND_INITIALIZER, ends = PTHREAD_COND_INITIALIZER;
static int round_number, done;
static long count;

static void *work(void *unused) {
    for (int seen = 0;; seen++) {
        pthread_mutex_lock(&gate);
        while (round_number == seen)
            pthread_cond_wait(&begins, &gate);
        pthread_mutex_unlock(&gate);
        for (int n = 0; n < LOCKS; n++) {
            pthread_mutex_lock(&counted);
            count++;
            pthread_mutex_unlock(&counted);
        }
        pthread_mutex_lock(&gate);
        done++;
        pthread_cond_signal(&ends);
        pthread_mutex_unlock(&gate);
    }
    return unused;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16384);
    for (int n = 0; n < THREADS; n++) {
        pthread_t thread;
        pthread_create(&thread, &attributes, work, NULL);
    }
    printf("%p\n", (void *)&counted);
    fflush(stdout);
    for (char line[16]; fgets(line, sizeof line, stdin);) {
        pthread_mutex_lock(&gate);
        done = 0;
        round_number++;
        pthread_cond_broadcast(&begins);
        while (done < THREADS)
            pthread_cond_wait(&ends, &gate);
        pthread_mutex_unlock(&gate);
        printf("%ld\n", count);
        fflush(stdout);
    }
    return 0;
}
