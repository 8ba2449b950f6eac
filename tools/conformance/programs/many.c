// Many threads, locks or call sites: many WHAT.
#include "truth.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *lock_once(void *argument) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return argument;
}

// Threads that live for a short time, eight of them at a time.
static void threads(int total) {
    for (int i = 0; i < total; i += 8) {
        pthread_t group[8];
        for (int j = 0; j < 8; j++)
            REQUIRE(pthread_create(&group[j], NULL, lock_once, NULL) == 0);
        for (int j = 0; j < 8; j++)
            REQUIRE(pthread_join(group[j], NULL) == 0);
    }
    expect("MutexLock", &lock, total);
    expect_all("ThreadCreate", total);
    expect_all("ThreadJoin", total);
}

// Threads that all exist at the same time.
static pthread_barrier_t together;

static void *wait_and_lock(void *argument) {
    pthread_barrier_wait(&together);
    return lock_once(argument);
}

static void at_once(int total) {
    pthread_t all[total];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    REQUIRE(pthread_barrier_init(&together, NULL, total) == 0);
    for (int i = 0; i < total; i++)
        REQUIRE(pthread_create(&all[i], &small, wait_and_lock, NULL) == 0);
    for (int i = 0; i < total; i++)
        REQUIRE(pthread_join(all[i], NULL) == 0);
    expect("MutexLock", &lock, total);
    expect("BarrierWait", &together, total);
    expect("BarrierInit", &together, 1);
}

static pthread_mutex_t *make(int total) {
    pthread_mutex_t *all = calloc(total, sizeof *all);
    for (int i = 0; i < total; i++)
        all[i] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    return all;
}

// Different locks that are all held at the same time, and are released in the order in which they
// were acquired.
static void nested(int total) {
    pthread_mutex_t *all = make(total);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < total; i++)
            REQUIRE(pthread_mutex_lock(&all[i]) == 0);
        for (int i = 0; i < total; i++)
            REQUIRE(pthread_mutex_unlock(&all[i]) == 0);
    }
    expect_all("MutexLock", 3 * total);
}

// Different locks that are used in turn at one call site.
static pthread_mutex_t *distinct(int total) {
    pthread_mutex_t *all = make(total);
    for (int round = 0; round < 5; round++)
        for (int i = 0; i < total; i++) {
            pthread_mutex_lock(&all[i]);
            pthread_mutex_unlock(&all[i]);
        }
    expect_all("MutexLock", 5 * total);
    return all;
}

static void few(int total) {
    pthread_mutex_t *all = distinct(total);
    for (int i = 0; i < total; i++)
        expect("MutexLock", &all[i], 5);
}

// Many locks, one of which is used more often than all others together. All are used by one call,
// in a recursion of some depth.
static unsigned long uses_of_hot;

__attribute__((noinline)) static void at_depth(pthread_mutex_t *lock, int left) {
    if (left) {
        at_depth(lock, left - 1);
        __asm__ volatile("");
        return;
    }
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
}

static void uneven(int locks, int total) {
    pthread_mutex_t *all = make(locks);
    unsigned long random = 1;
    for (int i = 0; i < total; i++) {
        random = random * 6364136223846793005 + 1;
        int number = random >> 63 ? 7 : (int)((random >> 32) % locks);
        uses_of_hot += number == 7;
        at_depth(&all[number], (int)((random >> 40) % 8));
    }
    say("@hot %lu", (unsigned long)&all[7]);
    say("@uses_of_hot %lu", uses_of_hot);
    expect_all("MutexLock", total);
}

// Tries at one call, for locks half of which are taken. One of the taken ones is tried more often than
// all others together.
static void uneven_tries(int locks, int total) {
    pthread_mutex_t *all = make(locks);
    for (int i = 1; i < locks; i += 2)
        REQUIRE(pthread_mutex_lock(&all[i]) == 0);
    unsigned long random = 1, refused = 0;
    for (int i = 0; i < total; i++) {
        random = random * 6364136223846793005 + 1;
        int number = random >> 63 ? 7 : (int)((random >> 32) % locks);
        uses_of_hot += number == 7;
        if (pthread_mutex_trylock(&all[number]) == 0)
            pthread_mutex_unlock(&all[number]);
        else
            refused++;
    }
    say("@hot %lu", (unsigned long)&all[7]);
    say("@uses_of_hot %lu", uses_of_hot);
    expect_all("MutexTrylock", total - refused);
    expect_all("MutexTrylock.refused", refused);
}

// Mutexes that are initialised at many call sites. Each mutex gets a row in the recording.
static void made(int rounds) {
    enum { PLACES = 64 };
    pthread_mutex_t *next = calloc((size_t)rounds * PLACES, sizeof *next);
#define ONE REQUIRE(pthread_mutex_init(next++, NULL) == 0);
#define FOUR ONE ONE ONE ONE
#define SIXTEEN FOUR FOUR FOUR FOUR
    for (int i = 0; i < rounds; i++) {
        SIXTEEN SIXTEEN SIXTEEN SIXTEEN
    }
    expect_all("MutexInit", (unsigned long)rounds * PLACES);
}

// Condition variables that one call creates. Nothing waits for them.
static void conditions(int total) {
    pthread_cond_t *all = calloc(total, sizeof *all);
    for (int i = 0; i < total; i++)
        REQUIRE(pthread_cond_init(&all[i], NULL) == 0);
    expect_all("CondInit", total);
}

// Each depth of the stack counts as a separate call site.
__attribute__((noinline)) static int depths(int left) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    int below = left ? depths(left - 1) : 0;
    __asm__ volatile("" : "+r"(below));
    return below + 1;
}

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    const char *what = arguments[1];
    if (strcmp(what, "threads") == 0) {
        threads(200);
    } else if (strcmp(what, "thousands-of-threads") == 0) {
        threads(10000);
    } else if (strcmp(what, "at-once") == 0) {
        at_once(1000);
    } else if (strcmp(what, "nested") == 0) {
        nested(3000);
    } else if (strcmp(what, "distinct") == 0) {
        distinct(100000);
    } else if (strcmp(what, "few") == 0) {
        few(200);
    } else if (strcmp(what, "made") == 0) {
        made(10000);
    } else if (strcmp(what, "conditions") == 0) {
        conditions(50000);
    } else if (strcmp(what, "uneven") == 0) {
        uneven(4096, 3000000);
    } else if (strcmp(what, "uneven-tries") == 0) {
        uneven_tries(4096, 1000000);
    } else if (strcmp(what, "depths") == 0) {
        for (int i = 0; i < 3; i++)
            say("depth %d", depths(20000));
        expect("MutexLock", &lock, 3 * 20001);
    }
    return 0;
}
