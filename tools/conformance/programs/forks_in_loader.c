// Forks while one of its threads is in the loader. In the child, the loader's lock is then held by
// a thread that does not exist there. The program answers each byte of its standard input with a
// line, and its children answer bytes from a pipe. If it has an argument, it opens that library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int enter[2], inside[2], leave[2], outside[2];
static int to_child[MOST], from_child[MOST], children;

// These are direct system calls, because the C library's functions may be recorded.
static void say(int pipe) { syscall(SYS_write, pipe, "x", 1); }
static int hear(int pipe) {
    char byte;
    return syscall(SYS_read, pipe, &byte, 1) == 1 ? byte : 0;
}

static int waits_in_loader(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)info, (void)size, (void)unused;
    say(inside[1]);
    hear(leave[0]);
    return 1;
}

static void *holder(void *unused) {
    while (hear(enter[0])) {
        dl_iterate_phdr(waits_in_loader, NULL);
        say(outside[1]);
    }
    return unused;
}

static void *waiter(void *unused) {
    for (;;)
        pause();
    return unused;
}

static void child(int in, int out, int with_thread) {
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (with_thread && pthread_create(&thread, NULL, waiter, NULL) != 0)
        _exit(1);
    say(out);
    while (hear(in)) {
        for (int n = 0; n < 1000; n++) {
            pthread_mutex_lock(&lock);
            pthread_mutex_unlock(&lock);
        }
        say(out);
    }
    _exit(0);
}

int main(int count, char **words) {
    pthread_t thread;
    int what, down[2], up[2];
    if (count > 1 && !dlopen(words[1], RTLD_NOW))
        return 1;
    if (pipe(enter) || pipe(inside) || pipe(leave) || pipe(outside))
        return 1;
    if (pthread_create(&thread, NULL, holder, NULL) != 0)
        return 1;
    while ((what = hear(0)) != 0) {
        int answer = 0;
        switch (what) {
        case 'h':
            say(enter[1]);
            hear(inside[0]);
            break;
        case 'l':
            say(leave[1]);
            hear(outside[0]);
            break;
        case 'r':
            for (int n = 0; n < children; n++) {
                say(to_child[n]);
                answer += hear(from_child[n]) == 'x';
            }
            break;
        default: // f: by the C library; c: by the kernel's call; t: with one more thread
            if (children == MOST || pipe(down) || pipe(up))
                return 1;
            answer = what == 'c' ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
            if (answer == 0)
                child(down[0], up[1], what == 't');
            to_child[children] = down[1];
            from_child[children++] = up[0];
            hear(up[0]);
        }
        printf("%d\n", answer);
        fflush(stdout);
    }
    return 0;
}
