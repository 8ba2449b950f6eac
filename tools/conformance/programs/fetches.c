// Gets functions from dlsym, keeps the pointers, and calls the functions through them, as the bytes
// of standard input say. It answers each byte with a line.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int (*function)(pthread_mutex_t *);

#define PAIRS 8
static function locks[PAIRS], unlocks[PAIRS];
static int pairs;
static atomic_int hurry;
static _Thread_local long counted;

static void fetch(void *handle) {
    locks[pairs] = (function)dlsym(handle, "pthread_mutex_lock");
    unlocks[pairs] = (function)dlsym(handle, "pthread_mutex_unlock");
    pairs++;
}

static int call_all(pthread_mutex_t *lock, int times) {
    int failed = 0;
    for (int pair = 0; pair < pairs; pair++)
        for (int n = 0; n < times; n++) {
            failed |= locks[pair](lock);
            counted++;
            failed |= unlocks[pair](lock);
        }
    return failed;
}

static void *hurries(void *unused) {
    static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    while (hurry)
        if (call_all(&own, 1) != 0)
            return &own;
    return unused;
}

int main(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    pthread_t thread;
    void *result;
    char byte;
    while (read(0, &byte, 1) == 1) {
        switch (byte) {
        case 'd': // by default
            fetch(RTLD_DEFAULT);
            printf("%d\n", locks[pairs - 1] == (function)dlsym(RTLD_NEXT, "pthread_mutex_lock"));
            break;
        case 'l': // from the C library
            fetch(libc);
            printf("%d\n", locks[pairs - 1] == locks[pairs - 2]);
            break;
        case 'n': // what isn't there
            result = dlsym(RTLD_DEFAULT, "GOMP_barrier");
            printf("%s\n", result ? "there" : dlerror() ? "missing" : "no reason");
            break;
        case 'c':
            counted = 0;
            printf("%d\n", call_all(&lock, 1000) == 0 && counted == 1000 * pairs);
            break;
        case 'g': { // whether the latest fetched gate is open: its first instruction reads that
            const char *gate = (const char *)locks[pairs - 1];
            int distance;
            memcpy(&distance, gate + 2, sizeof distance);
            printf("%d\n", *(const int *)(gate + 7 + distance));
            break;
        }
        case 'h': // without a pause, and alone in its thread
            hurry = 1;
            pthread_create(&thread, NULL, hurries, NULL);
            printf("hurries\n");
            break;
        case 'p':
            hurry = 0;
            pthread_join(thread, &result);
            printf("%d\n", result == NULL);
            break;
        }
        fflush(stdout);
    }
    return 0;
}
