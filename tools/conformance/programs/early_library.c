// A second preloaded library, whose constructor uses locks and starts a thread. The library's
// constructor may be the first one of all, and its destructor the last one.
#include "truth.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument) {
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

__attribute__((constructor)) static void start(void) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, work, NULL) == 0);
    work(NULL);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

__attribute__((destructor)) static void end(void) {
    work(NULL);
    // The command `syncline record` loads this library too, but is not recorded itself.
    if (strcmp(program_invocation_short_name, "syncline"))
        expect("MutexLock", &lock, 300);
}
