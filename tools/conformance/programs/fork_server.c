// A server that forks while its other threads hold locks or are about to acquire or release one.
// Each child counts from zero, for itself.
#include "truth.h"
#include <sys/wait.h>

enum { CHILDREN = 8, THREADS = 2, ROUNDS = 2000 };

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t in_child = PTHREAD_MUTEX_INITIALIZER;
static unsigned long locked[THREADS];
static int stop, prepared;

static void prepare(void) {
    pthread_mutex_lock(&held);
    prepared++;
}

static void resume(void) { pthread_mutex_unlock(&held); }

static void *work(void *argument) {
    unsigned long *count = argument;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        pthread_mutex_lock(&shared);
        (*count)++;
        pthread_mutex_unlock(&shared);
    }
    return NULL;
}

static void *of_child(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&in_child);
        pthread_mutex_unlock(&in_child);
    }
    expect_of(thread_number(), "MutexLock", &in_child, ROUNDS);
    return argument;
}

// Starts a thread in each child. One of the children also forks a grandchild.
static void child(int number) {
    pthread_t thread;
    for (int i = 0; i < number; i++) {
        pthread_mutex_lock(&in_child);
        pthread_mutex_unlock(&in_child);
    }
    REQUIRE(pthread_create(&thread, NULL, of_child, NULL) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    expect("MutexLock", &in_child, ROUNDS + number);
    expect_all("ThreadCreate", 1);
    if (number == 3) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            of_child(NULL);
            expect("MutexLock", &in_child, ROUNDS);
            expect("MutexLock", &held, 0);
            _exit(0);
        }
        waitpid(grandchild, NULL, 0);
        expect("MutexLock", &held, 1);
    } else {
        expect("MutexLock", &held, 0);
    }
    number % 2 ? _exit(number) : exit(number);
}

int main(void) {
    pthread_t threads[THREADS];
    REQUIRE(pthread_atfork(prepare, resume, resume) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &locked[i]);
    for (int i = 0; i < CHILDREN; i++) {
        sleep_ms(2);
        pid_t pid = fork();
        REQUIRE(pid >= 0);
        if (pid == 0)
            child(i);
        int status;
        REQUIRE(waitpid(pid, &status, 0) == pid);
        say("child %d: status %#x", i, status);
    }
    stop = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    expect("MutexLock", &shared, locked[0] + locked[1]);
    expect("MutexLock", &held, prepared);
    expect_all("ThreadCreate", THREADS);
    return 0;
}
