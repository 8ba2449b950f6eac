/* Locks that are freed as soon as their last user has released them: each lies in memory of its
   own. The thread that acquires a lock second destroys it and unmaps the memory, while the first
   thread's call may not have returned yet. */

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include "kinds.h"

enum { ROUNDS = 3000, NANOSECONDS = 40000000, FIRST_SHARES = 1, SECOND_SHARES = 2 };

static void *lock;
static int way, begun, ended;

/* A power of two, as pages are. */
static size_t room(void) { return now->size > 4096 ? 8192 : 4096; }

static void acquire(int shares) {
    EXPECT(0, way == shares ? now->rdlock(lock) : now->lock(lock));
}

static void *second(void *unused) {
    for (int round = 1;; round++) {
        int seen;
        while ((seen = __atomic_load_n(&begun, __ATOMIC_ACQUIRE)) != round) {
            if (seen < 0)
                return unused;
            sched_yield();
        }
        acquire(SECOND_SHARES);
        EXPECT(0, now->unlock(lock));
        EXPECT(0, now->destroy(lock));
        EXPECT(0, munmap(lock, room()));
        __atomic_store_n(&ended, round, __ATOMIC_RELEASE);
    }
}

static long long nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void rounds(void) {
    pthread_t thread;
    begun = ended = 0;
    EXPECT(0, pthread_create(&thread, NULL, second, NULL));
    long long end = nanoseconds() + NANOSECONDS;
    for (int round = 1; round <= ROUNDS && nanoseconds() < end; round++) {
        lock = mmap(NULL, room(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT(1, lock != MAP_FAILED);
        if (now->init)
            EXPECT(0, now->init(lock, now->name));
        void *mine = lock;
        acquire(FIRST_SHARES);
        __atomic_store_n(&begun, round, __ATOMIC_RELEASE);
        /* The second thread acquires the lock in the middle of the release, or earlier. */
        for (volatile int i = 0; i < round % 64 * 16; i++)
            ;
        EXPECT(0, now->unlock(mine));
        while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) != round)
            sched_yield();
    }
    __atomic_store_n(&begun, -1, __ATOMIC_RELEASE);
    EXPECT(0, pthread_join(thread, NULL));
}

int main(void) {
    /* The library's allocations are mapped and unmapped separately, too. */
    EXPECT(1, mallopt(M_ARENA_MAX, 1) && mallopt(M_MMAP_MAX, 1 << 20) &&
                  mallopt(M_MMAP_THRESHOLD, 1));
    for (now = kinds; now < kinds + KINDS; now++)
        for (way = 0; way <= (now->rdlock ? SECOND_SHARES : 0); way++)
            rounds();
    printf("%zu locks\n", KINDS);
}
