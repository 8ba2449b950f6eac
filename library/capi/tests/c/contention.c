/* Threads count under each lock with a plain counter, sleep until they are woken, and read what
   writers write. */

#include <pthread.h>

#include "kinds.h"

enum { THREADS = 4 };

/* A hand-over to a spinning waiter that is preempted takes a time slice of the scheduler. */
static int spins(void) { return strstr(now->name, "-spin") != NULL; }
static int rounds(void) { return spins() ? 20 : 4000; }
static int turns(void) { return spins() ? 4 : 200; }

static void *lock;
static syncline_cond_t cond = SYNCLINE_COND_INIT;
static long count, twin;

static void *add(void *unused) {
    const int limit = rounds();
    for (int i = 0; i < limit; i++) {
        int way = i % 4;
        if (way == 1 && now->trylock) {
            while (now->trylock(lock) == EBUSY)
                sched_yield();
        } else if (way == 2 && now->timedlock) {
            const struct timespec soon = syncline_deadline(1000);
            int outcome;
            while ((outcome = now->timedlock(lock, &soon)) == ETIMEDOUT)
                ;
            EXPECT(0, outcome);
        } else {
            EXPECT(0, now->lock(lock));
        }
        count++;
        twin++;
        EXPECT(0, now->unlock(lock));
    }
    return unused;
}

static void *look(void *unused) {
    const int limit = rounds();
    for (int i = 0; i < limit; i++) {
        int way = i % 4;
        if (way == 1 && now->tryrdlock) {
            while (now->tryrdlock(lock) == EBUSY)
                sched_yield();
        } else if (way == 2 && now->timedrdlock) {
            const struct timespec soon = syncline_deadline(1000);
            while (now->timedrdlock(lock, &soon) == ETIMEDOUT)
                ;
        } else {
            EXPECT(0, now->rdlock(lock));
        }
        EXPECT(1, count == twin);
        EXPECT(0, now->unlock(lock));
    }
    return unused;
}

static void run(void *(*first)(void *), void *(*second)(void *)) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        EXPECT(0, pthread_create(&threads[i], NULL, i % 2 ? second : first, NULL));
    for (int i = 0; i < THREADS; i++)
        EXPECT(0, pthread_join(threads[i], NULL));
}

/* Two threads take turns, each woken by the other. */
static void *take_turns(void *parity) {
    const int limit = turns();
    EXPECT(0, now->lock(lock));
    for (int i = 0; i < limit; i++) {
        while (count % 2 != (parity != NULL)) {
            if (i % 2) {
                EXPECT(0, now->wait(lock, &cond));
            } else {
                const struct timespec later = syncline_deadline(1000000000);
                now->timedwait(lock, &cond, &later);
            }
        }
        count++;
        EXPECT(0, i % 3 ? syncline_cond_signal(&cond) : syncline_cond_broadcast(&cond));
    }
    EXPECT(0, now->unlock(lock));
    return NULL;
}

static void test_turns(void) {
    pthread_t other;
    EXPECT(0, pthread_create(&other, NULL, take_turns, &count));
    take_turns(NULL);
    EXPECT(0, pthread_join(other, NULL));
    EXPECT(2 * turns(), (int)count);
}

int main(void) {
    for (now = kinds; now < kinds + KINDS; now++) {
        lock = fresh(now);
        count = twin = 0;
        run(add, add);
        EXPECT(THREADS * rounds(), (int)count);
        if (now->rdlock) {
            run(add, look);
            EXPECT(THREADS * rounds() * 3 / 2, (int)count);
        }
        count = 0;
        test_turns();
        discard(now, lock);
    }
    EXPECT(0, syncline_cond_destroy(&cond));
    printf("%zu locks\n", KINDS);
}
