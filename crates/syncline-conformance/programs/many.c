// Many of everything: many WHAT.
#include "truth.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *lock_once(void *argument) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return argument;
}

// Threads that live shortly, eight at a time.
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

// As many threads at once as there are.
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

// Distinct locks, all held at once, released in the order of acquisition.
static void nested(int total) {
    pthread_mutex_t *all = make(total);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < total; i++)
            REQUIRE(pthread_mutex_lock(&all[i]) == 0);
        for (int i = 0; i < total; i++)
            REQUIRE(pthread_mutex_unlock(&all[i]) == 0);
    }
    for (int i = 0; i < total; i += 100)
        expect("MutexLock", &all[i], 3);
    expect_all("MutexLock", 3 * total);
}

static void distinct(int total) {
    pthread_mutex_t *all = make(total);
    for (int round = 0; round < 5; round++)
        for (int i = 0; i < total; i++) {
            pthread_mutex_lock(&all[i]);
            pthread_mutex_unlock(&all[i]);
        }
    for (int i = 0; i < total; i += 1000)
        expect("MutexLock", &all[i], 5);
    expect_all("MutexLock", 5 * total);
}

// Each depth of the stack is a place of its own.
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
    } else if (strcmp(what, "depths") == 0) {
        for (int i = 0; i < 3; i++)
            say("depth %d", depths(20000));
        expect("MutexLock", &lock, 3 * 20001);
    }
    return 0;
}
