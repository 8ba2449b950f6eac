// The loader keeps an error until the program asks for it. It must do so no matter which functions
// are called for the first time meanwhile. The process's first allocation may be the one that keeps
// the error.
#include "truth.h"
#include <dlfcn.h>

static int is_told(void) {
    const char *error = dlerror();
    return error && strstr(error, "no_such_function");
}

int main(void) {
    dlsym(RTLD_DEFAULT, "no_such_function");
    REQUIRE(is_told());
    REQUIRE(dlerror() == NULL);

    pthread_rwlock_t rwlock;
    pthread_spinlock_t spinlock;
    dlsym(RTLD_DEFAULT, "no_such_function");
    REQUIRE(pthread_rwlock_init(&rwlock, NULL) == 0 && pthread_rwlock_rdlock(&rwlock) == 0);
    REQUIRE(pthread_rwlock_unlock(&rwlock) == 0);
    REQUIRE(pthread_spin_init(&spinlock, 0) == 0 && pthread_spin_lock(&spinlock) == 0);
    REQUIRE(pthread_spin_unlock(&spinlock) == 0);
    REQUIRE(is_told());
    say("told");
    expect("RwlockInit", &rwlock, 1);
    expect("RwlockRead", &rwlock, 1);
    expect("SpinInit", &spinlock, 1);
    expect("SpinLock", &spinlock, 1);
    return 0;
}
