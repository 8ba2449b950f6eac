// Asks the C library itself, and not all modules in their order, for the functions of a mutex, as the
// programs of Free Pascal do. It keeps the count of its acquisitions.
#include "truth.h"
#include <dlfcn.h>

typedef int (*function)(pthread_mutex_t *);

int main(void) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    REQUIRE(libc != NULL);
    function lock = (function)dlsym(libc, "pthread_mutex_lock");
    function unlock = (function)dlsym(libc, "pthread_mutex_unlock");
    REQUIRE(lock != NULL && unlock != NULL);
    REQUIRE(lock == (function)dlsym(RTLD_DEFAULT, "pthread_mutex_lock"));
    REQUIRE(dlsym(libc, "no_such_function") == NULL && dlerror() != NULL);
    REQUIRE(dlsym(libc, "strlen") == dlsym(RTLD_DEFAULT, "strlen"));
    for (int n = 0; n < 1000; n++) {
        REQUIRE(lock(&mutex) == 0);
        REQUIRE(unlock(&mutex) == 0);
    }
    expect("MutexLock", &mutex, 1000);
    return 0;
}
