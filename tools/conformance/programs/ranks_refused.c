/* Does what can't work on ranks, as its argument says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

static int word;

static void *waits(void *unused) {
    pause();
    return unused;
}

static int child(void *unused) { return unused != NULL; }

static void does(const char *what, char **argv) {
    pthread_t thread;
    char *none[] = {"true", NULL};
    if (!strcmp(what, "fork")) fork();
    if (!strcmp(what, "vfork") && vfork() == 0) _exit(0);
    if (!strcmp(what, "clone")) clone(child, (char *)malloc(65536) + 65536, SIGCHLD, NULL);
    if (!strcmp(what, "execve")) execv("/bin/true", none);
    if (!strcmp(what, "system")) (void)!system("true");
    if (!strcmp(what, "popen")) popen("true", "r");
    if (!strcmp(what, "posix_spawn")) {
        pid_t pid;
        posix_spawn(&pid, "/bin/true", NULL, NULL, none, NULL);
    }
    if (!strncmp(what, "pthread_", 8) && strcmp(what, "pthread_exit in main")) {
        if (!strcmp(what, "pthread_mutex_init for several processes")) {
            static pthread_mutex_t mutex;
            pthread_mutexattr_t attributes;
            pthread_mutexattr_init(&attributes);
            pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
            pthread_mutex_init(&mutex, &attributes);
        }
        pthread_create(&thread, NULL, waits, NULL);
        if (!strcmp(what, "pthread_cancel")) pthread_cancel(thread);
    }
    if (!strcmp(what, "pthread_exit in main")) pthread_exit(NULL);
    if (!strcmp(what, "sem_open")) sem_open("/syncline-test", O_CREAT, 0600, 1);
    if (!strcmp(what, "sem_init for several processes")) {
        static sem_t semaphore;
        sem_init(&semaphore, 1, 1);
    }
    if (!strcmp(what, "dlopen")) dlopen("libm.so.6", RTLD_NOW);
    if (!strcmp(what, "mmap with MAP_FIXED"))
        mmap((void *)(1L << 40), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (!strcmp(what, "mmap of a file that it writes to")) {
        int file = open(argv[0], O_RDONLY);
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (!strcmp(what, "shmat")) shmat(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600), NULL, 0);
    if (!strcmp(what, "io_uring_setup")) syscall(SYS_io_uring_setup, 4, NULL);
    if (!strcmp(what, "futex, for a lock of its own")) syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    does(argv[1], argv);
    printf("done\n");
    return 0;
}
