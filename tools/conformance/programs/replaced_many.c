// Uses many mutexes, some of them in two threads at the same time. Prints how much memory and how
// much address space the process then needs.
#include "truth.h"

enum { MUTEXES = 300000 };

static pthread_mutex_t all[MUTEXES];
static int counts[MUTEXES];

static void *work(void *argument) {
    for (int i = 0; i < MUTEXES; i++) {
        pthread_mutex_lock(&all[i]);
        counts[i]++;
        pthread_mutex_unlock(&all[i]);
    }
    return argument;
}

int main(void) {
    pthread_t other;
    REQUIRE(pthread_create(&other, NULL, work, NULL) == 0);
    work(NULL);
    REQUIRE(pthread_join(other, NULL) == 0);
    int locked = 0;
    for (int i = 0; i < MUTEXES; i++)
        locked += counts[i] == 2;
    say("@locked %d", locked);
    say("@resident %ld", kilobytes_of("VmRSS:"));
    say("@mapped %ld", kilobytes_of("VmSize:"));
    return 0;
}
