// The owner of a mutex dies: a thread, or a process. A thread that gets EOWNERDEAD holds the lock,
// even if it has called trylock.
#include "truth.h"
#include <sys/mman.h>
#include <sys/wait.h>

static void make(pthread_mutex_t *m, int shared) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&attributes, shared);
    REQUIRE(pthread_mutex_init(m, &attributes) == 0);
}

static void *die_holding(void *m) {
    REQUIRE(pthread_mutex_lock(m) == 0);
    return NULL;
}

static void let_owner_die(pthread_mutex_t *m) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, die_holding, m) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

static int take(pthread_mutex_t *m, int way) {
    struct timespec later = after(CLOCK_REALTIME, 10000);
    return way == 0 ? pthread_mutex_lock(m) : way == 1 ? pthread_mutex_trylock(m)
                                                       : pthread_mutex_timedlock(m, &later);
}

static const char *const names[] = {"MutexLock", "MutexTrylock", "MutexTimedlock"};

static void recovered(int way) {
    static pthread_mutex_t mutexes[3];
    pthread_mutex_t *m = &mutexes[way];
    make(m, 0);
    let_owner_die(m);
    int first = take(m, way);
    say("%s of a dead owner's: %s", names[way], error_name(first));
    say("  consistent: %s", error_name(pthread_mutex_consistent(m)));
    say("  unlock: %s", error_name(pthread_mutex_unlock(m)));
    say("  again: %s", error_name(take(m, way)));
    say("  unlock: %s", error_name(pthread_mutex_unlock(m)));
    expect("MutexInit", m, 1);
    expect("MutexLock", m, way == 0 ? 3 : 1);
    if (way)
        expect(names[way], m, 2);
}

static void not_recovered(int way) {
    static pthread_mutex_t mutexes[3];
    pthread_mutex_t *m = &mutexes[way];
    make(m, 0);
    let_owner_die(m);
    say("%s, not made consistent: %s", names[way], error_name(take(m, way)));
    say("  unlock: %s", error_name(pthread_mutex_unlock(m)));
    // Trylock comes last, because glibc's trylock leaves such a mutex locked.
    static const int order[] = {0, 2, 1};
    for (int i = 0; i < 3; i++)
        say("  %s: %s", names[order[i]], error_name(take(m, order[i])));
    expect("MutexInit", m, 1);
    expect("MutexLock", m, way == 0 ? 2 : 1);
    if (way)
        expect(names[way], m, 1);
}

static void dead_process(void) {
    pthread_mutex_t *m =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    make(m, 1);
    pid_t child = fork();
    if (child == 0) {
        REQUIRE(pthread_mutex_lock(m) == 0);
        expect("MutexLock", m, 1);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    say("dead process: trylock %s", error_name(pthread_mutex_trylock(m)));
    say("  consistent %s", error_name(pthread_mutex_consistent(m)));
    say("  unlock %s", error_name(pthread_mutex_unlock(m)));
    say("  lock %s", error_name(pthread_mutex_lock(m)));
    expect("MutexInit", m, 1);
    expect("MutexTrylock", m, 1);
    expect("MutexLock", m, 1);
}

int main(void) {
    for (int way = 0; way < 3; way++) {
        recovered(way);
        not_recovered(way);
    }
    dead_process();
    return 0;
}
