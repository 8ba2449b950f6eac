// Opens a library, uses it and closes it, several times: opens LIBRARY MODE ROUNDS.
#include "truth.h"
#include <dlfcn.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(int count, char **arguments) {
    REQUIRE(count == 4);
    int deep = strcmp(arguments[2], "deepbind") == 0, rounds = atoi(arguments[3]);
    unsigned long criticals = 0;
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&lock);
        void *library =
            dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL | (deep ? RTLD_DEEPBIND : 0)), *address;
        REQUIRE(library);
        int (*run)(void **) = (int (*)(void **))dlsym(library, "plugin_run");
        criticals += run(&address);
        pthread_mutex_unlock(&lock);
        // The library's address may be different each time, so only the sum over all locks is
        // known.
        if (i < rounds - 1)
            REQUIRE(dlclose(library) == 0);
    }
    say("%d rounds, %lu critical sections", rounds, criticals);
    expect("MutexLock", &lock, rounds);
    say("@rounds %d", rounds);
    say("@criticals %lu", criticals);
    _exit(0);
}
