// Calls that don't set errno must leave it unchanged, even at call sites that the recorder has not
// seen before.
#include "truth.h"
#include <semaphore.h>
#include <threads.h>

enum { PLACES = 200 };

static pthread_mutex_t mutexes[PLACES];
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static mtx_t c11;
static sem_t semaphore;
static _Thread_local int checked;

#define KEEPS(call)                                                                                \
    do {                                                                                           \
        errno = 12345 + checked;                                                                   \
        REQUIRE((call) == 0);                                                                      \
        REQUIRE(errno == 12345 + checked);                                                         \
        checked++;                                                                                 \
    } while (0)

static void *work(void *argument) {
    for (int i = 0; i < PLACES; i++) {
        KEEPS(pthread_mutex_lock(&mutexes[i]));
        KEEPS(pthread_mutex_unlock(&mutexes[i]));
    }
    return argument;
}

int main(void) {
    pthread_t thread;
    KEEPS(pthread_create(&thread, NULL, work, NULL));
    KEEPS(pthread_join(thread, NULL));
    work(NULL);
    KEEPS(pthread_rwlock_rdlock(&rwlock));
    KEEPS(pthread_rwlock_unlock(&rwlock));
    KEEPS(pthread_rwlock_wrlock(&rwlock));
    KEEPS(pthread_rwlock_unlock(&rwlock));
    KEEPS(pthread_cond_signal(&cond));
    KEEPS(pthread_cond_broadcast(&cond));
    KEEPS(pthread_barrier_init(&barrier, NULL, 1));
    errno = 7;
    REQUIRE(pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD && errno == 7);
    KEEPS(pthread_spin_init(&spin, 0));
    KEEPS(pthread_spin_lock(&spin));
    KEEPS(pthread_spin_unlock(&spin));
    KEEPS(mtx_init(&c11, mtx_plain));
    KEEPS(mtx_lock(&c11));
    KEEPS(mtx_unlock(&c11));
    KEEPS(sem_init(&semaphore, 0, 0));
    KEEPS(sem_post(&semaphore));
    KEEPS(sem_wait(&semaphore));
    REQUIRE(sem_trywait(&semaphore) == -1 && errno == EAGAIN);
    struct timespec past = {1, 0}, soon = after(CLOCK_REALTIME, 2);
    REQUIRE(sem_timedwait(&semaphore, &past) == -1 && errno == ETIMEDOUT);
    REQUIRE(sem_timedwait(&semaphore, &soon) == -1 && errno == ETIMEDOUT);
    REQUIRE(syscall(SYS_futex, &checked, 128, -1, NULL, NULL, 0) == -1 && errno == EAGAIN);
    say("%d calls kept errno", checked);
    expect("MutexLock", &mutexes[0], 2);
    expect("MutexLock", &mutexes[PLACES - 1], 2);
    return 0;
}
