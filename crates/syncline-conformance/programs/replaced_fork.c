// Forks while threads wait for locks that are held over the fork, as pthread_atfork provides. In
// the child, locks must be usable again, by new threads; also by those that come while the forking
// thread still holds them.
#include "truth.h"
#include <signal.h>
#include <sys/wait.h>

enum { CHILDREN = 20, THREADS = 6, ROUNDS = 500 };

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t shelf = PTHREAD_RWLOCK_INITIALIZER;
// Held by the forking thread itself.
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t book = PTHREAD_RWLOCK_INITIALIZER;
static volatile int stop;
static long counts[5];

static void lock_all(void) {
    REQUIRE(pthread_mutex_lock(&plain) == 0);
    REQUIRE(pthread_mutex_lock(&recursive) == 0);
    REQUIRE(pthread_mutex_lock(&recursive) == 0);
    REQUIRE(pthread_rwlock_wrlock(&shelf) == 0);
    // Long enough for the others to line up.
    sleep_ms(2);
}

static void unlock_all(void) {
    REQUIRE(pthread_rwlock_unlock(&shelf) == 0);
    REQUIRE(pthread_mutex_unlock(&recursive) == 0);
    REQUIRE(pthread_mutex_unlock(&recursive) == 0);
    REQUIRE(pthread_mutex_unlock(&plain) == 0);
}

static void use(void) {
    pthread_mutex_lock(&plain);
    counts[0]++;
    pthread_mutex_unlock(&plain);
    pthread_mutex_lock(&recursive);
    counts[1]++;
    pthread_mutex_unlock(&recursive);
    pthread_rwlock_wrlock(&shelf);
    counts[2]++;
    pthread_rwlock_unlock(&shelf);
    pthread_mutex_lock(&held);
    counts[3]++;
    pthread_mutex_unlock(&held);
    pthread_rwlock_wrlock(&book);
    counts[4]++;
    pthread_rwlock_unlock(&book);
}

static void *work(void *argument) {
    while (!stop)
        use();
    return argument;
}

static void *work_some(void *argument) {
    for (int i = 0; i < ROUNDS; i++)
        use();
    return argument;
}

static void *refused(void *argument) {
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 2000000;
    soon.tv_sec += soon.tv_nsec / 1000000000;
    soon.tv_nsec %= 1000000000;
    REQUIRE(pthread_mutex_trylock(&held) == EBUSY);
    REQUIRE(pthread_mutex_timedlock(&held, &soon) == ETIMEDOUT);
    REQUIRE(pthread_rwlock_tryrdlock(&book) == EBUSY);
    REQUIRE(pthread_rwlock_timedrdlock(&book, &soon) == ETIMEDOUT);
    REQUIRE(pthread_rwlock_timedwrlock(&book, &soon) == ETIMEDOUT);
    return argument;
}

static void run_child(void) {
    alarm(20);
    memset(counts, 0, sizeof counts);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work_some, NULL) == 0);
    // They wait for what is still held.
    sleep_ms(5);
    REQUIRE(counts[3] == 0);
    pthread_t other;
    REQUIRE(pthread_create(&other, NULL, refused, NULL) == 0);
    pthread_join(other, NULL);
    REQUIRE(pthread_mutex_unlock(&held) == 0);
    REQUIRE(pthread_rwlock_unlock(&book) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 5; i++)
        REQUIRE(counts[i] == 2 * ROUNDS);
    _exit(0);
}

int main(void) {
    pthread_atfork(lock_all, unlock_all, unlock_all);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work, NULL) == 0);
    int children = 0;
    for (int i = 0; i < CHILDREN; i++) {
        pthread_mutex_lock(&held);
        pthread_rwlock_wrlock(&book);
        // Long enough for the others to line up.
        sleep_ms(2);
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0)
            run_child();
        pthread_rwlock_unlock(&book);
        pthread_mutex_unlock(&held);
        int status;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        children++;
    }
    stop = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    say("%d children", children);
    return 0;
}
