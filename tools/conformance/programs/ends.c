// A program that ends without a call of the C library's exit functions: ends MANNER.
//
// It ends through the C library's function `syscall` (`call`), with a system-call instruction of
// its own (`raw`), or by executing `ends raw` (`exec`). In each case a child ends first, through
// `syscall`. With `leave` the program returns from `main`, and the child stays alive, after it has
// closed all of its files.
#include "truth.h"
#include <sys/wait.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void use_lock(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

int main(int count, char **arguments) {
    const char *manner = count > 1 ? arguments[1] : "";
    use_lock();
    pid_t child = fork();
    if (child == 0) {
        use_lock();
        if (strcmp(manner, "leave") == 0) {
            close_range(0, ~0u, 0);
            alarm(15);
            pause();
        }
        syscall(SYS_exit_group, 7);
    }
    if (strcmp(manner, "leave") == 0)
        return 0;
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    say("@main %d", (int)getpid());
    if (strcmp(manner, "call") == 0)
        syscall(SYS_exit_group, 0);
    if (strcmp(manner, "exec") == 0)
        execl(arguments[0], arguments[0], "raw", (char *)NULL);
    __asm__ volatile("syscall" ::"a"(SYS_exit_group), "D"(0) : "rcx", "r11", "memory");
}
