/* One lock for which threads wait, and other locks that they take far more often without a wait. The
 * program prints the name and the address of the first lock, and how often it was taken.
 *
 *   rare    one of 512 acquisitions is of the first lock; its sections take some microseconds
 *   mixed   one of 9 acquisitions is of the first lock. Of 16 of its sections, 15 change a number that
 *           all threads share. One, at another call site, changes a number of its own thread. So
 *           1 - (15/16)^2 = 12.1 % of the pairs of sections are independent.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 4, OWN = 8, APART = 64 };

static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER;
static long shared_number;
static int is_rare;
static int rounds;

struct own {
    pthread_mutex_t lock;
    unsigned long state;
    long number, taken;
    char padding[128];
};

static struct own all[THREADS];

__attribute__((noinline)) static unsigned long compute(unsigned long state, int steps) {
    for (int step = 0; step < steps; step++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state;
}

static void *run(void *argument) {
    struct own *own = argument;
    for (int round = 0; round < rounds; round++) {
        for (int n = 0; n < OWN; n++) {
            pthread_mutex_lock(&own->lock);
            own->state = compute(own->state, 100);
            pthread_mutex_unlock(&own->lock);
        }
        if (is_rare) {
            if (round % APART != 0) continue;
            pthread_mutex_lock(&hot);
            shared_number += compute(own->state, 800) & 1;
            pthread_mutex_unlock(&hot);
        } else if (round % 16 == 0) {
            pthread_mutex_lock(&hot);
            own->number++;
            pthread_mutex_unlock(&hot);
        } else {
            pthread_mutex_lock(&hot);
            shared_number++;
            pthread_mutex_unlock(&hot);
        }
        own->taken++;
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    is_rare = argc > 1 && strcmp(argv[1], "rare") == 0;
    rounds = 300000;
    for (int t = 0; t < THREADS; t++) {
        all[t] = (struct own){.state = 88172645463325252u + t};
        pthread_mutex_init(&all[t].lock, NULL);
        pthread_create(&threads[t], NULL, run, &all[t]);
    }
    long taken = 0;
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        taken += all[t].taken;
    }
    printf("@hot %lu\n@taken %ld\n", (unsigned long)&hot, taken);
    return 0;
}
