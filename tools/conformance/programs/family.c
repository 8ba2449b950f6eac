// Thousands of children, most of which live only for a moment: family CHILDREN. One child is
// killed, one runs another program, one has a child of its own, and one becomes large.
#include "truth.h"
#include <signal.h>
#include <sys/wait.h>

enum { LOCKS = 400, THREADS = 8, ROUNDS = 50 };

static pthread_mutex_t small[5], many[LOCKS], contended = PTHREAD_MUTEX_INITIALIZER;

static int take_some(int number) {
    int taken = number % 5 + 1;
    for (int i = 0; i < taken; i++) {
        pthread_mutex_lock(&small[i]);
        pthread_mutex_unlock(&small[i]);
    }
    return taken;
}

// There are several call sites, so that each has few enough locks for a recording to distinguish
// them.
static void take_many(void) {
    for (int i = 0; i < LOCKS / 2; i++) {
        pthread_mutex_lock(&many[i]);
        pthread_mutex_unlock(&many[i]);
    }
    for (int i = LOCKS / 2; i < LOCKS; i++) {
        pthread_mutex_lock(&many[i]);
        pthread_mutex_unlock(&many[i]);
    }
}

static void *wait_for_it(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&contended);
        sleep_ms(0);
        pthread_mutex_unlock(&contended);
        take_many();
    }
    return argument;
}

static void grow(int taken) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, wait_for_it, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    expect_all("ThreadCreate", THREADS);
    expect("MutexLock", &contended, THREADS * ROUNDS);
    for (int i = 0; i < LOCKS; i += 37)
        expect("MutexLock", &many[i], THREADS * ROUNDS);
    expect_all("MutexLock", THREADS * ROUNDS * (LOCKS + 1) + taken);
}

static void odd_child(const char *name, char *self, int number) {
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        int taken = take_some(number);
        if (number == 1) {
            expect_all("MutexLock", taken);
            raise(SIGKILL);
        }
        if (number == 2)
            execl(self, self, "run", NULL);
        if (number == 3) {
            pid_t grandchild = fork();
            if (grandchild == 0) {
                expect_all("MutexLock", take_some(2));
                _exit(0);
            }
            waitpid(grandchild, NULL, 0);
            expect_all("MutexLock", taken);
        }
        if (number == 4)
            grow(taken);
        _exit(0);
    }
    int status;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    say("@%s %d", name, (int)pid);
    say("%s: status %#x", name, status);
}

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "run") == 0) {
        take_some(3);
        return 9;
    }
    REQUIRE(count == 2);
    int children = atoi(arguments[1]);
    long taken = take_some(4);
    expect_all("MutexLock", taken);
    odd_child("killed", arguments[0], 1);
    odd_child("executed", arguments[0], 2);
    odd_child("parent", arguments[0], 3);
    long of_children = 0;
    for (int i = 0; i < children; i++) {
        pid_t pid = fork();
        REQUIRE(pid >= 0);
        if (pid == 0)
            _exit(take_some(i));
        int status;
        REQUIRE(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        of_children += WEXITSTATUS(status);
    }
    odd_child("grown", arguments[0], 4);
    say("@taken %ld", of_children);
    return 0;
}
