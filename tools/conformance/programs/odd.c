// Unusual, but allowed: a mutex that another thread releases, memory that is used for several locks
// one after another, a lock held by a thread that has ended, locks in memory that is unmapped,
// waits that a signal ends, and condition waits that return an error of the mutex.
#include "truth.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>

static pthread_mutex_t handed = PTHREAD_MUTEX_INITIALIZER, left = PTHREAD_MUTEX_INITIALIZER;
static sem_t semaphore, go;

static void *release(void *argument) {
    for (int i = 0; i < 1000; i++) {
        sem_wait(&go);
        REQUIRE(pthread_mutex_unlock(&handed) == 0);
    }
    return argument;
}

static void handed_over(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, release, NULL);
    for (int i = 0; i < 1000; i++) {
        REQUIRE(pthread_mutex_lock(&handed) == 0);
        sem_post(&go);
    }
    pthread_join(thread, NULL);
    say("handed over");
    expect("MutexLock", &handed, 1000);
}

static void *leave_locked(void *argument) {
    REQUIRE(pthread_mutex_lock(&left) == 0);
    return argument;
}

static void left_by_the_dead(void) {
    pthread_t thread;
    struct timespec soon = after(CLOCK_REALTIME, 5);
    pthread_create(&thread, NULL, leave_locked, NULL);
    pthread_join(thread, NULL);
    say("left: %s", error_name(pthread_mutex_trylock(&left)));
    say("left: %s", error_name(pthread_mutex_timedlock(&left, &soon)));
    expect("MutexLock", &left, 1);
    expect("MutexTrylock.refused", &left, 1);
    expect("MutexTimedlock.timeouts", &left, 1);
}

static void one_after_the_other(void) {
    static union {
        pthread_mutex_t mutex;
        pthread_rwlock_t rwlock;
        pthread_spinlock_t spin;
    } u;
    for (int i = 0; i < 100; i++) {
        pthread_mutex_init(&u.mutex, NULL);
        pthread_mutex_lock(&u.mutex);
        pthread_mutex_unlock(&u.mutex);
        pthread_mutex_destroy(&u.mutex);
        pthread_rwlock_init(&u.rwlock, NULL);
        pthread_rwlock_wrlock(&u.rwlock);
        pthread_rwlock_unlock(&u.rwlock);
        pthread_rwlock_destroy(&u.rwlock);
        pthread_spin_init(&u.spin, 0);
        pthread_spin_lock(&u.spin);
        pthread_spin_unlock(&u.spin);
    }
    say("reused");
    expect("MutexInit", &u, 100);
    expect("MutexLock", &u, 100);
    expect("RwlockInit", &u, 100);
    expect("RwlockWrite", &u, 100);
    expect("SpinInit", &u, 100);
    expect("SpinLock", &u, 100);
}

// The memory of the lock is unmapped while the lock is held, and then mapped again at this address.
static void memory_goes_away(void) {
    void *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 50; i++) {
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        REQUIRE(mmap(place, 4096, PROT_READ | PROT_WRITE, flags, -1, 0) == place);
        REQUIRE(pthread_mutex_lock(place) == 0);
        REQUIRE(munmap(place, 4096) == 0);
    }
    say("unmapped");
    expect("MutexLock", place, 50);
}

static void nothing(int number) { (void)number; }

static void *interrupted(void *argument) {
    REQUIRE(sem_wait(&semaphore) == -1);
    say("sem_wait: %s", error_name(errno));
    struct timespec later = after(CLOCK_REALTIME, 100000);
    REQUIRE(sem_timedwait(&semaphore, &later) == -1);
    say("sem_timedwait: %s", error_name(errno));
    return argument;
}

static void waits_that_a_signal_ends(void) {
    struct sigaction action = {.sa_handler = nothing};
    sigaction(SIGUSR1, &action, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, interrupted, NULL);
    // The signal is repeated until the thread has ended, since a signal may come before the wait
    // begins.
    while (pthread_tryjoin_np(thread, NULL) == EBUSY) {
        sleep_ms(5);
        pthread_kill(thread, SIGUSR1);
    }
    expect("SemInit", &semaphore, 1);
    expect("SemWait", &semaphore, 0);
    expect("SemTimedwait", &semaphore, 0);
    expect("SemTimedwait.timeouts", &semaphore, 0);
}

static pthread_mutex_t not_held = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, robust;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void *signal_and_die(void *argument) {
    REQUIRE(pthread_mutex_lock(&robust) == 0);
    pthread_cond_signal(&cond);
    return argument;
}

static void errors_of_the_mutex(void) {
    struct timespec later = after(CLOCK_REALTIME, 100000);
    int error = pthread_cond_timedwait(&cond, &not_held, &later);
    say("wait without the mutex: %s", error_name(error));
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_mutex_lock(&robust);
    pthread_t thread;
    pthread_create(&thread, NULL, signal_and_die, NULL);
    error = pthread_cond_timedwait(&cond, &robust, &later);
    say("wait whose signaller died: %s", error_name(error));
    say("consistent: %s", error_name(pthread_mutex_consistent(&robust)));
    say("unlock: %s", error_name(pthread_mutex_unlock(&robust)));
    pthread_join(thread, NULL);
    expect("MutexInit", &robust, 1);
    expect("MutexLock", &robust, 2);
    expect("CondTimedwait", &cond, 1);
    expect("CondSignal", &cond, 1);
}

int main(void) {
    sem_init(&semaphore, 0, 0);
    sem_init(&go, 0, 0);
    handed_over();
    left_by_the_dead();
    one_after_the_other();
    memory_goes_away();
    waits_that_a_signal_ends();
    errors_of_the_mutex();
    return 0;
}
