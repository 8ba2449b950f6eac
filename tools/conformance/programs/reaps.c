// Children whose end only their parent can record: reaps.
//
// Each child uses a lock, so that it has a file in the recording, and ends in a way that it can't
// record itself. The parent waits for each child with another function, and once in a signal
// handler. It checks the result of the wait, and prints which child it was: @FUNCTION PID
#include "truth.h"
#include <sys/resource.h>
#include <sys/wait.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void ends(int status) {
    __asm__ volatile("syscall" ::"a"(SYS_exit_group), "D"(status) : "rcx", "r11", "memory");
}

static int go[2];

// Makes a child that ends with this status. If `signal` is not 0, the child raises that signal
// first. A child that is stopped ends when the parent writes to `go`.
static pid_t child(int status, int signal) {
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        if (signal != 0)
            raise(signal);
        char byte;
        REQUIRE(signal != SIGSTOP || read(go[0], &byte, 1) == 1);
        ends(status);
    }
    REQUIRE(child > 0);
    return child;
}

// Checks that the child has ended with the expected status. 100 + N stands for signal N.
static void told(const char *how, pid_t pid, int status, int expected) {
    int got = WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
    REQUIRE(got == expected && !WIFSTOPPED(status));
    say("@%s %d", how, (int)pid);
}

static volatile sig_atomic_t pid_in_handler, status_in_handler;

static void handler(int signal) {
    (void)signal;
    int status, saved = errno;
    pid_in_handler = waitpid(-1, &status, WNOHANG);
    status_in_handler = status;
    errno = saved;
}

static void *waits_for_ever(void *unused) {
    waitpid(-1, NULL, 0);
    return unused;
}

int main(int count, char **arguments) {
    if (count > 1) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        ends(child(9, 0) > 0 ? 10 : 11);
    }
    REQUIRE(pipe(go) == 0);
    pid_t pid = child(1, 0);
    int status;
    REQUIRE(wait(&status) == pid);
    told("wait", pid, status, 1);

    pid = child(2, 0);
    REQUIRE(waitpid(pid, NULL, 0) == pid);
    say("@waitpid %d", (int)pid);

    struct rusage usage;
    pid = child(0, SIGKILL);
    REQUIRE(wait3(&status, 0, &usage) == pid);
    told("wait3", pid, status, 100 + SIGKILL);

    pid = child(0, SIGSEGV);
    REQUIRE(wait4(pid, &status, 0, &usage) == pid);
    told("wait4", pid, status, 100 + SIGSEGV);

    // A child for which the parent waits only with WNOWAIT.
    siginfo_t info;
    pid = child(5, 0);
    REQUIRE(waitid(P_PID, pid, &info, WEXITED | WNOWAIT) == 0);
    REQUIRE(info.si_pid == pid && info.si_status == 5);
    REQUIRE(waitid(P_PID, pid, NULL, WEXITED) == 0);
    say("@waitid %d", (int)pid);

    // A child that has stopped but not ended.
    pid = child(6, SIGSTOP);
    REQUIRE(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
    REQUIRE(kill(pid, SIGCONT) == 0);
    REQUIRE(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status));
    REQUIRE(write(go[1], "", 1) == 1 && waitpid(pid, &status, 0) == pid);
    told("stopped", pid, status, 6);

    // The parent waits in a signal handler.
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    REQUIRE(sigprocmask(SIG_BLOCK, &blocked, &before) == 0);
    signal(SIGCHLD, handler);
    pid = child(7, 0);
    while (pid_in_handler != pid)
        sigsuspend(&before);
    signal(SIGCHLD, SIG_DFL);
    told("handler", pid, status_in_handler, 7);

    // A thread is cancelled while it waits. The child has not ended at that time.
    pid = child(8, SIGSTOP);
    pthread_t thread;
    void *result;
    REQUIRE(pthread_create(&thread, NULL, waits_for_ever, NULL) == 0);
    usleep(10000);
    REQUIRE(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    REQUIRE(result == PTHREAD_CANCELED);
    REQUIRE(waitpid(pid, &status, WUNTRACED) == pid);
    REQUIRE(kill(pid, SIGCONT) == 0 && write(go[1], "", 1) == 1);
    REQUIRE(waitpid(pid, &status, 0) == pid);
    told("cancelled", pid, status, 8);

    // A child executes another program. That program has a child of its own, and does not wait for
    // it.
    pid = fork();
    if (pid == 0) {
        pthread_mutex_lock(&lock);
        execl(arguments[0], arguments[0], "again", (char *)NULL);
    }
    REQUIRE(waitpid(pid, &status, 0) == pid);
    told("exec", pid, status, 10);

    errno = 0;
    REQUIRE(waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
    return 0;
}
