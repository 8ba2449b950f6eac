// Uses locks before main and after it: in constructors, atexit handlers and destructors of the
// executable.
#include "truth.h"
#include <semaphore.h>

static pthread_mutex_t early = PTHREAD_MUTEX_INITIALIZER, late = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned long early_locks, late_locks;

static void lock_early(void) {
    REQUIRE(pthread_mutex_lock(&early) == 0);
    early_locks++;
    REQUIRE(pthread_mutex_unlock(&early) == 0);
}

static void lock_late(void) {
    REQUIRE(pthread_mutex_lock(&late) == 0);
    late_locks++;
    REQUIRE(pthread_mutex_unlock(&late) == 0);
}

static void *in_thread(void *argument) {
    argument ? lock_late() : lock_early();
    return NULL;
}

static void run_thread(void *argument) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, in_thread, argument) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

__attribute__((constructor(101))) static void first_of_all(void) {
    lock_early();
    REQUIRE(sem_init(&semaphore, 0, 0) == 0 && sem_post(&semaphore) == 0);
    run_thread(NULL);
}

__attribute__((constructor(65535))) static void last_before_main(void) {
    lock_early();
    pthread_once(&once, lock_early);
    REQUIRE(sem_wait(&semaphore) == 0);
}

static void at_exit(void) {
    lock_late();
    run_thread(&late);
    REQUIRE(pthread_rwlock_rdlock(&rwlock) == 0);
    REQUIRE(pthread_rwlock_unlock(&rwlock) == 0);
}

__attribute__((destructor(65535))) static void first_after_main(void) { lock_late(); }

__attribute__((destructor(101))) static void last_of_all(void) {
    lock_late();
    REQUIRE(pthread_mutex_trylock(&late) == 0);
    REQUIRE(pthread_mutex_unlock(&late) == 0);
    say("early %lu, late %lu", early_locks, late_locks);
    expect("MutexLock", &early, early_locks);
    expect("MutexLock", &late, late_locks);
    expect("MutexTrylock", &late, 1);
    expect("RwlockRead", &rwlock, 1);
    expect("SemInit", &semaphore, 1);
    expect("SemPost", &semaphore, 1);
    expect("SemWait", &semaphore, 1);
    // It can be more than two, because a test preloads a library that has its own thread.
    say("@%d 0 ThreadCreate * 2+", (int)getpid());
    say("@%d 0 ThreadJoin * 2+", (int)getpid());
}

int main(void) {
    say("main");
    REQUIRE(atexit(at_exit) == 0);
    return 0;
}
