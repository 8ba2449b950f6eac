// Gives up its privileges after its start, and continues to work: privileges setuid|chroot FOLDER.
// Its own counts must stay exact. A child may not be able to reach the recording's folder, and must
// not notice that.
#include "truth.h"
#include <grp.h>
#include <sys/wait.h>

enum { ROUNDS = 1000, NOBODY = 65534 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

static void in_thread(void) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, work, NULL) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

int main(int count, char **arguments) {
    REQUIRE(count == 3);
    work(NULL);
    if (strcmp(arguments[1], "chroot") == 0)
        REQUIRE(chroot(arguments[2]) == 0 && chdir("/") == 0);
    else
        REQUIRE(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    in_thread();
    pid_t pid = fork();
    if (pid == 0) {
        in_thread();
        _exit(6);
    }
    int status;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    say("child: status %#x", status);
    in_thread();
    expect("MutexLock", &lock, 3 * ROUNDS);
    expect_all("ThreadCreate", 2);
    return 0;
}
