// Threads that allocate and free blocks of many sizes. They also free blocks that other threads
// have allocated.
#include "truth.h"

enum { THREADS = 4, ROUNDS = 30000, SLOTS = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *slots[SLOTS];
static size_t sizes[SLOTS];

static void *work(void *argument) {
    unsigned state = (unsigned)(long)argument + 1;
    for (int i = 0; i < ROUNDS; i++) {
        state = state * 1103515245 + 12345;
        size_t size = 1 + (state >> 16) % 5000;
        unsigned char *block = malloc(size);
        memset(block, (int)(size % 251), size);
        unsigned slot = (state >> 8) % SLOTS;
        pthread_mutex_lock(&lock);
        unsigned char *old = slots[slot];
        size_t old_size = sizes[slot];
        slots[slot] = block, sizes[slot] = size;
        pthread_mutex_unlock(&lock);
        if (old) {
            REQUIRE(old[0] == old_size % 251 && old[old_size - 1] == old_size % 251);
            free(old);
        }
    }
    return argument;
}

int main(void) {
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    say("blocks intact");
    expect("MutexLock", &lock, THREADS * ROUNDS);
    return 0;
}
