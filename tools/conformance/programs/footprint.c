// Prints what a process has before and after it uses locks in two threads: open files, tasks,
// signal actions and masks, timers, the rounding mode. Recording must not change any of this.
#include "truth.h"
#include <dirent.h>
#include <fenv.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>

static pthread_mutex_t mutexes[1000];

static void say_numbers(const char *what, const char *folder) {
    DIR *list = opendir(folder);
    REQUIRE(list);
    int count = 0;
    while (readdir(list))
        count++;
    closedir(list);
    say("%s: %d", what, count);
}

static void say_all(const char *when) {
    say("%s", when);
    say_numbers("open files", "/proc/self/fd");
    say_numbers("tasks", "/proc/self/task");
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    int blocked = 0, handled = 0;
    for (int i = 1; i < 65; i++) {
        struct sigaction action;
        blocked += sigismember(&mask, i) == 1;
        handled += sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL;
    }
    say("signals: %d blocked, %d handled", blocked, handled);
    stack_t stack;
    sigaltstack(NULL, &stack);
    say("alternate stack: %d", stack.ss_flags);
    struct itimerval timer;
    getitimer(ITIMER_REAL, &timer);
    say("timer: %ld", (long)(timer.it_value.tv_sec + timer.it_interval.tv_usec));
    mode_t old = umask(022);
    umask(old);
    unsigned mxcsr;
    __asm__("stmxcsr %0" : "=m"(mxcsr));
    say("umask %o, rounding %d, floating point %x", old, fegetround(), mxcsr & ~0x3f);
    char name[16] = "", folder[PATH_MAX];
    pthread_getname_np(pthread_self(), name, sizeof name);
    say("name %s in %s", name, getcwd(folder, sizeof folder));
}

static void *work(void *argument) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&mutexes[i]);
        pthread_mutex_unlock(&mutexes[i]);
    }
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    say("a thread blocks SIGALRM: %d", sigismember(&mask, SIGALRM));
    return argument;
}

int main(void) {
    fesetround(FE_DOWNWARD);
    say_all("at first");
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    work(NULL);
    // The kernel may need a moment until it has removed the thread.
    sleep_ms(20);
    say_all("afterwards");
    volatile double third = 1.0;
    say("a third, rounded down: %.20f", third / 3.0);
    expect_all("MutexLock", 2000);
    return 0;
}
