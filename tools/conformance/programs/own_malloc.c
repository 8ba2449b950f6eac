// A program with its own malloc, which takes a pthread mutex. Recording must not change how often
// malloc is called. The mutex must be counted like any other.
#include "truth.h"
#include <stdint.h>

enum { ARENA = 64 << 20, THREADS = 4, ROUNDS = 20000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(16) char arena[ARENA];
static size_t used;
static unsigned long calls, locks;

static void *take(size_t size, size_t alignment) {
    pthread_mutex_lock(&lock);
    calls++, locks++;
    size_t start = (used + 16 + alignment - 1) & ~(alignment - 1);
    // When the arena is full, its second half is used again, since nothing in this program is kept
    // for long.
    if (start + size > ARENA)
        start = (ARENA / 2 + alignment) & ~(alignment - 1);
    used = start + size;
    memcpy(arena + start - 8, &size, 8);
    pthread_mutex_unlock(&lock);
    return arena + start;
}

void *malloc(size_t size) { return take(size, 16); }

void free(void *block) {
    if (block) {
        pthread_mutex_lock(&lock);
        locks++;
        pthread_mutex_unlock(&lock);
    }
}

void *calloc(size_t count, size_t size) {
    return memset(take(count * size, 16), 0, count * size);
}

void *realloc(void *old, size_t size) {
    char *block = take(size, 16);
    if (old) {
        size_t before;
        memcpy(&before, (char *)old - 8, 8);
        memcpy(block, old, before < size ? before : size);
    }
    return block;
}

void *memalign(size_t alignment, size_t size) { return take(size, alignment < 16 ? 16 : alignment); }

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = memalign(alignment, size);
    return 0;
}

static void *work(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        char *volatile block = malloc(i % 100 + 1);
        block[0] = 1;
        free(block);
    }
    return argument;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    unsigned long now = calls;
    say("malloc was called %lu times", now);
    expect("MutexLock", &lock, locks);
    _exit(0);
}
