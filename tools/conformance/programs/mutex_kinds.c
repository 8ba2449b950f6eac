// A mutex of each type, protocol, robustness and sharing, and of each static initialiser. One
// thread uses it, and another one is refused. The return codes and the bytes after each call must
// be the same with and without recording.
#include "truth.h"

// Offsets of the two pointers in the robust list, which differ between runs.
static const int masked[] = {24, 28, 32, 36, -1};

struct counts {
    unsigned long init, lock, trylock, refused, timedlock, timeouts;
};

// Prints the result and the bytes of the mutex. If the call succeeded, counts it in `counter`.
static int did(const char *what, pthread_mutex_t *m, int result, unsigned long *counter) {
    char label[64];
    sprintf(label, "  %s %s", what, error_name(result));
    say_bytes(label, m, sizeof *m, masked);
    if (counter && (result == 0 || result == EOWNERDEAD))
        ++*counter;
    return result;
}

struct other {
    pthread_mutex_t *mutex;
    struct counts *counts;
};

static void *other_thread(void *argument) {
    struct other *o = argument;
    pthread_mutex_t *m = o->mutex;
    int try = pthread_mutex_trylock(m);
    struct timespec soon = after(CLOCK_REALTIME, 2);
    int timed = pthread_mutex_timedlock(m, &soon);
    soon = after(CLOCK_MONOTONIC, 2);
    int clocked = pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &soon);
    say("  other: trylock %s, timedlock %s, clocklock %s", error_name(try), error_name(timed),
        error_name(clocked));
    REQUIRE(try && timed && clocked);
    o->counts->refused += try == EBUSY;
    o->counts->timeouts += (timed == ETIMEDOUT) + (clocked == ETIMEDOUT);
    return NULL;
}

// The meaning of `relock`: locking again deadlocks (0), is an error (1), or succeeds (2).
static void exercise(pthread_mutex_t *m, int relock, struct counts *n) {
    struct timespec bad = {0, -1}, past = {1, 0};
    struct timespec later = after(CLOCK_REALTIME, 100000);
    struct timespec later_monotonic = after(CLOCK_MONOTONIC, 100000);
    did("unlock before", m, relock ? pthread_mutex_unlock(m) : 0, NULL);
    if (did("lock", m, pthread_mutex_lock(m), &n->lock))
        return;
    if (relock && did("lock again", m, pthread_mutex_lock(m), &n->lock) == 0)
        did("unlock inner", m, pthread_mutex_unlock(m), NULL);
    int error = did("trylock held", m, pthread_mutex_trylock(m), &n->trylock);
    if (error == 0)
        did("unlock inner", m, pthread_mutex_unlock(m), NULL);
    n->refused += error == EBUSY;
    error = did("timedlock past", m, pthread_mutex_timedlock(m, &past), &n->timedlock);
    if (error == 0)
        did("unlock inner", m, pthread_mutex_unlock(m), NULL);
    n->timeouts += error == ETIMEDOUT;
    error = did("timedlock bad", m, pthread_mutex_timedlock(m, &bad), &n->timedlock);
    if (error == 0)
        did("unlock inner", m, pthread_mutex_unlock(m), NULL);
    pthread_t thread;
    struct other other = {m, n};
    REQUIRE(pthread_create(&thread, NULL, other_thread, &other) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    did("unlock", m, pthread_mutex_unlock(m), NULL);
    if (did("trylock", m, pthread_mutex_trylock(m), &n->trylock) == 0)
        did("unlock", m, pthread_mutex_unlock(m), NULL);
    if (did("timedlock", m, pthread_mutex_timedlock(m, &later), &n->timedlock) == 0)
        did("unlock", m, pthread_mutex_unlock(m), NULL);
    error = pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &later_monotonic);
    if (did("clocklock", m, error, &n->timedlock) == 0)
        did("unlock", m, pthread_mutex_unlock(m), NULL);
    did("clocklock cpu", m, pthread_mutex_clocklock(m, CLOCK_PROCESS_CPUTIME_ID, &later), NULL);
}

static void expect_counts(pthread_mutex_t *m, struct counts n) {
    expect("MutexInit", m, n.init);
    expect("MutexLock", m, n.lock);
    expect("MutexTrylock", m, n.trylock);
    expect("MutexTrylock.refused", m, n.refused);
    expect("MutexTimedlock", m, n.timedlock);
    expect("MutexTimedlock.timeouts", m, n.timeouts);
}

static int relocks_of(int type) {
    return type == PTHREAD_MUTEX_RECURSIVE ? 2 : type == PTHREAD_MUTEX_ERRORCHECK ? 1 : 0;
}

static void each_attribute(void) {
    static pthread_mutex_t mutexes[4][3][2][2];
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                                PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
    static const int protocols[] = {PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT, PTHREAD_PRIO_PROTECT};
    for (int i = 0; i < 4 * 3 * 2 * 2; i++) {
        int t = i / 12, p = i / 4 % 3, robust = i / 2 % 2, shared = i % 2;
        pthread_mutex_t *m = &mutexes[t][p][robust][shared];
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        REQUIRE(pthread_mutexattr_settype(&attributes, types[t]) == 0);
        REQUIRE(pthread_mutexattr_setprotocol(&attributes, protocols[p]) == 0);
        REQUIRE(pthread_mutexattr_setrobust(&attributes, robust) == 0);
        REQUIRE(pthread_mutexattr_setpshared(&attributes, shared) == 0);
        say("type %d protocol %d robust %d shared %d", t, p, robust, shared);
        struct counts n = {0};
        if (did("init", m, pthread_mutex_init(m, &attributes), &n.init) == 0) {
            exercise(m, relocks_of(types[t]), &n);
            did("destroy", m, pthread_mutex_destroy(m), NULL);
            expect_counts(m, n);
        }
    }
}

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

static void each_initialiser(void) {
    static const struct {
        const char *name;
        pthread_mutex_t *mutex;
        int relock;
    } all[] = {{"normal", &normal, 0},
               {"recursive", &recursive, 2},
               {"errorcheck", &errorcheck, 1},
               {"adaptive", &adaptive, 0}};
    for (int i = 0; i < 4; i++) {
        say("static %s", all[i].name);
        struct counts n = {0};
        exercise(all[i].mutex, all[i].relock, &n);
        did("destroy", all[i].mutex, pthread_mutex_destroy(all[i].mutex), NULL);
        expect_counts(all[i].mutex, n);
    }
}

int main(void) {
    each_attribute();
    each_initialiser();
    return 0;
}
