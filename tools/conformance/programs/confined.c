// Enters a sandbox in which one system call ends the process, and waits until its standard input
// ends. The argument names the system call. The argument "strict" stands for the sandbox that
// allows almost no system call.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int number(const char *name) {
    if (strcmp(name, "socketpair") == 0)
        return SYS_socketpair;
    if (strcmp(name, "mprotect") == 0)
        return SYS_mprotect;
    return SYS_reboot;
}

int main(int count, char **words) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number(words[count - 1]), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof steps[0], steps};
    char byte;
    printf("ready\n");
    fflush(stdout);
    if (strcmp(words[count - 1], "strict") == 0) {
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
            return 1;
    } else if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
               || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        return 1;
    }
    while (syscall(SYS_read, 0, &byte, 1) > 0)
        ;
    syscall(SYS_exit, 0);
}
