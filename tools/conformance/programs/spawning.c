// Children that begin in the memory of this process (vfork, posix_spawn) while its other threads
// use locks.
#include "truth.h"
#include <spawn.h>
#include <sys/wait.h>

enum { THREADS = 3, ROUNDS = 40, OF_CHILD = 10 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, of_child = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long locked;
static int stop;

static void *lock(void *count) {
    unsigned long *own = count;
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
        pthread_mutex_lock(&mutex);
        locked++;
        pthread_mutex_unlock(&mutex);
        ++*own;
    }
    return NULL;
}

static int status_of(pid_t pid) {
    int status;
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    return status;
}

int main(int count, char **arguments) {
    (void)arguments;
    char *self = "/proc/self/exe", *words[] = {self, "leaf", NULL};
    extern char **environ;
    if (count > 1) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        return 3;
    }
    pthread_t threads[THREADS];
    unsigned long own[THREADS] = {0}, sum = 0;
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, lock, &own[i]) == 0);
    int by_exec = 0, by_spawn = 0, by_exit = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pid_t pid = vfork();
        if (pid == 0) {
            execve(self, words, environ);
            _exit(127);
        }
        by_exec += status_of(pid) == 3 << 8;
        REQUIRE(posix_spawn(&pid, self, NULL, NULL, words, environ) == 0);
        by_spawn += status_of(pid) == 3 << 8;
        pid = vfork();
        if (pid == 0) {
            for (int i = 0; i < OF_CHILD; i++) {
                pthread_mutex_lock(&of_child);
                pthread_mutex_unlock(&of_child);
            }
            _exit(4);
        }
        by_exit += status_of(pid) == 4 << 8;
    }
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        sum += own[i];
    }
    say("%d %d %d, none lost: %d", by_exec, by_spawn, by_exit, sum == locked);
    expect("MutexLock", &mutex, locked);
    expect("MutexLock", &of_child, ROUNDS * OF_CHILD);
    return 0;
}
