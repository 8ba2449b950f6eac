// Threads that live for a short time, eight of them at a time. Prints how much memory the process
// needs after a tenth of them, and at the end.
#include "truth.h"

enum { GROUPS = 1500, GROUP = 8 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int by_mutex, by_rwlock;

static void *lock_once(void *unused) {
    pthread_mutex_lock(&mutex);
    by_mutex++;
    // Meanwhile the other threads come and have to wait.
    usleep(20);
    pthread_rwlock_wrlock(&rwlock);
    by_rwlock++;
    pthread_rwlock_unlock(&rwlock);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    for (int group = 0; group < GROUPS; group++) {
        pthread_t threads[GROUP];
        for (int i = 0; i < GROUP; i++)
            REQUIRE(pthread_create(&threads[i], NULL, lock_once, NULL) == 0);
        for (int i = 0; i < GROUP; i++)
            REQUIRE(pthread_join(threads[i], NULL) == 0);
        if (group == GROUPS / 10)
            say("@soon %ld", kilobytes_of("VmRSS:"));
    }
    say("@late %ld", kilobytes_of("VmRSS:"));
    say("%d %d", by_mutex, by_rwlock);
    return 0;
}
