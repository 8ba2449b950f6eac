// Forks a hundred times while other threads use ever new locks, with stacks of ever new depths. So
// a fork may interrupt anything that a recorder does for a new lock or stack. No child may hang.
#include "truth.h"
#include <sys/wait.h>

enum { THREADS = 3, CHILDREN = 100, MUTEXES = 1 << 14 };

static pthread_mutex_t mutexes[THREADS][MUTEXES];
static pthread_mutex_t of_child = PTHREAD_MUTEX_INITIALIZER;
static int stop;

__attribute__((noinline)) static void at_depth(pthread_mutex_t *m, int depth) {
    if (depth > 0) {
        at_depth(m, depth - 1);
    } else {
        pthread_mutex_lock(m);
        pthread_mutex_unlock(m);
    }
    __asm__ volatile("");
}

static void *work(void *argument) {
    long number = (long)argument;
    for (unsigned i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++)
        at_depth(&mutexes[number][i % MUTEXES], i / MUTEXES % 50);
    return NULL;
}

static void *lock(void *argument) {
    at_depth(&of_child, 3);
    return argument;
}

static void child(int number) {
    alarm(10);
    at_depth(&of_child, 2);
    if (number % 4 == 0) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, lock, NULL) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
    }
    _exit(number % 100);
}

int main(void) {
    pthread_t threads[THREADS];
    int wrong = 0;
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = fork();
        REQUIRE(pid >= 0);
        if (pid == 0)
            child(i);
        int status;
        waitpid(pid, &status, 0);
        wrong += !WIFEXITED(status) || WEXITSTATUS(status) != i % 100;
    }
    stop = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    say("%d children, %d went wrong", CHILDREN, wrong);
    return wrong != 0;
}
