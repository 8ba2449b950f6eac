// Locks of each kind that are taken so often at one call site that a thread no longer examines each
// acquisition, and a lock that is taken rarely. Later, a child takes one of the locks a few times
// at this call site.
#include "truth.h"

#include <stdint.h>
#include <sys/wait.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, rare = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;

enum { OFTEN = 1500000, RARELY = 3000, BY_CHILD = 40 };

static volatile long guarded;

__attribute__((noinline)) static void take_mutex(void) {
    pthread_mutex_lock(&mutex);
    guarded++;
    pthread_mutex_unlock(&mutex);
}

static void take_all(int n) {
    take_mutex();
    if (n % 3) pthread_rwlock_rdlock(&rwlock); else pthread_rwlock_wrlock(&rwlock);
    guarded++;
    pthread_rwlock_unlock(&rwlock);
    pthread_spin_lock(&spin);
    guarded++;
    pthread_spin_unlock(&spin);
    if (n % (OFTEN / RARELY) == 0) {
        pthread_mutex_lock(&rare);
        guarded++;
        pthread_mutex_unlock(&rare);
    }
}

int main(void) {
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    for (int n = 0; n < OFTEN; n++) take_all(n);
    pid_t child = fork();
    if (child == 0) {
        for (int n = 0; n < BY_CHILD; n++) take_mutex();
        exit(0);
    }
    waitpid(child, NULL, 0);
    if (guarded != 3L * OFTEN + RARELY) return 1;
    say("@mutex %lu", (unsigned long)(uintptr_t)&mutex);
    say("@rwlock %lu", (unsigned long)(uintptr_t)&rwlock);
    say("@spin %lu", (unsigned long)(uintptr_t)&spin);
    say("@rare %lu", (unsigned long)(uintptr_t)&rare);
    say("@often %d", OFTEN);
    say("@rarely %d", RARELY);
    say("@by_child %d", BY_CHILD);
    say("@child %d", child);
    return 0;
}
