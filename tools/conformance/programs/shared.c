// Objects in memory that processes share. The operations of each process must be in its own file.
#include "truth.h"
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { PROCESSES = 3, ROUNDS = 5000 };

struct shared {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_cond_t cond;
    pthread_barrier_t barrier;
    sem_t semaphore;
    unsigned long mutex_count, rwlock_count, turn;
};

static void work(struct shared *s, unsigned long number) {
    unsigned long waits = 0;
    pthread_barrier_wait(&s->barrier);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&s->mutex);
        s->mutex_count++;
        pthread_mutex_unlock(&s->mutex);
        pthread_rwlock_wrlock(&s->rwlock);
        s->rwlock_count++;
        pthread_rwlock_unlock(&s->rwlock);
        while (sem_wait(&s->semaphore))
            continue;
        sem_post(&s->semaphore);
    }
    pthread_mutex_lock(&s->mutex);
    for (int i = 0; i < 100; i++) {
        while (s->turn % PROCESSES != number) {
            pthread_cond_wait(&s->cond, &s->mutex);
            waits++;
        }
        s->turn++;
        pthread_cond_broadcast(&s->cond);
    }
    pthread_mutex_unlock(&s->mutex);
    expect("MutexLock", &s->mutex, ROUNDS + 1);
    expect("RwlockWrite", &s->rwlock, ROUNDS);
    expect("SemWait", &s->semaphore, ROUNDS);
    expect("SemPost", &s->semaphore, ROUNDS);
    expect("CondWait", &s->cond, waits);
    expect("CondBroadcast", &s->cond, 100);
    expect("BarrierWait", &s->barrier, 1);
}

int main(void) {
    struct shared *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t of_mutex;
    pthread_rwlockattr_t of_rwlock;
    pthread_condattr_t of_cond;
    pthread_barrierattr_t of_barrier;
    pthread_mutexattr_init(&of_mutex);
    pthread_rwlockattr_init(&of_rwlock);
    pthread_condattr_init(&of_cond);
    pthread_barrierattr_init(&of_barrier);
    pthread_mutexattr_setpshared(&of_mutex, 1);
    pthread_rwlockattr_setpshared(&of_rwlock, 1);
    pthread_condattr_setpshared(&of_cond, 1);
    pthread_barrierattr_setpshared(&of_barrier, 1);
    pthread_mutex_init(&s->mutex, &of_mutex);
    pthread_rwlock_init(&s->rwlock, &of_rwlock);
    pthread_cond_init(&s->cond, &of_cond);
    pthread_barrier_init(&s->barrier, &of_barrier, PROCESSES);
    sem_init(&s->semaphore, 1, 1);
    expect("MutexInit", &s->mutex, 1);
    expect("RwlockInit", &s->rwlock, 1);
    expect("CondInit", &s->cond, 1);
    expect("BarrierInit", &s->barrier, 1);
    expect("SemInit", &s->semaphore, 1);
    for (unsigned long i = 1; i < PROCESSES; i++)
        if (fork() == 0) {
            work(s, i);
            _exit(0);
        }
    work(s, 0);
    while (wait(NULL) > 0)
        continue;
    say("%lu %lu %lu", s->mutex_count, s->rwlock_count, s->turn);
    return 0;
}
