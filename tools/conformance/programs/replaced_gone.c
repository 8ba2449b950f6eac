// Objects that are destroyed as soon as their last user has unlocked them. Each object has its own
// page. The thread that acquires an object second destroys it and unmaps the page, perhaps before
// the first thread's unlock has returned. POSIX allows that. The arguments are the number of
// rounds, and the most milliseconds for each kind of object.
#include "truth.h"
#include <sys/mman.h>

enum { WAYS = 5 };
static const char *const names[WAYS] = {"mutex", "spin", "write write", "read write", "write read"};

static struct page {
    pthread_mutex_t mutex;
    pthread_spinlock_t spin;
    pthread_rwlock_t rwlock;
} *page;
static int way, begun, ended;

static void acquire(int second) {
    if (way == 0)
        pthread_mutex_lock(&page->mutex);
    else if (way == 1)
        pthread_spin_lock(&page->spin);
    else if (way == (second ? 4 : 3))
        pthread_rwlock_rdlock(&page->rwlock);
    else
        pthread_rwlock_wrlock(&page->rwlock);
}

static void release(struct page *of) {
    if (way == 0)
        pthread_mutex_unlock(&of->mutex);
    else if (way == 1)
        pthread_spin_unlock(&of->spin);
    else
        pthread_rwlock_unlock(&of->rwlock);
}

static void *second(void *rounds) {
    for (int round = 1; __atomic_load_n(&begun, __ATOMIC_ACQUIRE) >= 0; round++) {
        int now;
        while ((now = __atomic_load_n(&begun, __ATOMIC_ACQUIRE)) != round)
            if (now < 0)
                return rounds;
        acquire(1);
        struct page *of = page;
        release(of);
        if (way == 0)
            REQUIRE(pthread_mutex_destroy(&of->mutex) == 0);
        else if (way == 1)
            REQUIRE(pthread_spin_destroy(&of->spin) == 0);
        else
            REQUIRE(pthread_rwlock_destroy(&of->rwlock) == 0);
        REQUIRE(munmap(of, sizeof *of) == 0);
        __atomic_store_n(&ended, round, __ATOMIC_RELEASE);
    }
    return rounds;
}

int main(int count, char **arguments) {
    REQUIRE(count == 3);
    int rounds = atoi(arguments[1]), milliseconds = atoi(arguments[2]);
    for (way = 0; way < WAYS; way++) {
        struct timespec end = after(CLOCK_MONOTONIC, milliseconds), now = {0};
        begun = ended = 0;
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, second, NULL) == 0);
        for (int round = 1; round <= rounds; round++) {
            page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                        0);
            REQUIRE(page != MAP_FAILED);
            pthread_mutex_init(&page->mutex, NULL);
            pthread_spin_init(&page->spin, PTHREAD_PROCESS_PRIVATE);
            pthread_rwlock_init(&page->rwlock, NULL);
            struct page *of = page;
            acquire(0);
            __atomic_store_n(&begun, round, __ATOMIC_RELEASE);
            // The other thread arrives during this loop, or at the latest during the unlock.
            for (volatile int i = 0; i < round % 64 * 16; i++)
                ;
            release(of);
            while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) != round)
                ;
            clock_gettime(CLOCK_MONOTONIC, &now);
            if (now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec > end.tv_nsec))
                break;
        }
        __atomic_store_n(&begun, -1, __ATOMIC_RELEASE);
        REQUIRE(pthread_join(thread, NULL) == 0);
        say("%s", names[way]);
    }
    return 0;
}
