// A program that enters a sandbox in which it may only write, wait, enlarge its heap and end. Then
// it continues to use locks, its existing threads, and the heap. The argument says how it enters
// the sandbox:
//
//   sandboxed WAY
//     prctl, syscall    by the C library's function of this name
//     strict            into the kernel's strict mode, in which not even waiting is allowed
//     threads           for all threads at the same time, while they hold locks
//     instruction       by a system-call instruction of its own, while it holds a lock
//     outside           by a system-call instruction of its own, while it holds no lock
//     refused           like `outside`, but a forbidden system call only fails
//     section           by the C library's function, while it holds a lock
//     counter           it only forbids itself to read the time stamp counter
//     asks              it only asks whether sandboxes exist
//     exec              it runs itself in a sandbox where a program can be loaded but not traced
#include "truth.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

enum { ROUNDS = 2000, THREADS = 3, BLOCKS = 3000, BLOCK = 2000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static unsigned long count;
static int stop, running;
static void *volatile last;

static void rounds(void) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        count++;
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
    }
}

static void *work(void *argument) {
    (void)argument;
    __atomic_add_fetch(&running, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        rounds();
    __atomic_add_fetch(&running, -1, __ATOMIC_RELEASE);
    // The end of a thread takes system calls, so this thread stays here until the process ends.
    pthread_mutex_lock(argument);
    return NULL;
}

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define FORBID(number)                                                                             \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                                             \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

static struct sock_filter few[] = {
    LOAD_NUMBER,
    ALLOW(SYS_write),
    ALLOW(SYS_futex),
    ALLOW(SYS_brk),
    ALLOW(SYS_exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
// Like `few`, but the program may also ask whether it is in a sandbox.
static struct sock_filter asking[] = {
    LOAD_NUMBER,
    ALLOW(SYS_prctl),
    ALLOW(SYS_write),
    ALLOW(SYS_futex),
    ALLOW(SYS_brk),
    ALLOW(SYS_exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
static struct sock_filter refusing[] = {
    LOAD_NUMBER,
    ALLOW(SYS_write),
    ALLOW(SYS_futex),
    ALLOW(SYS_brk),
    ALLOW(SYS_exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
};
// Forbids some system calls that the loader does not need.
static struct sock_filter most[] = {
    LOAD_NUMBER,
    FORBID(SYS_madvise),
    FORBID(SYS_clock_gettime),
    FORBID(SYS_sigaltstack),
    FORBID(SYS_ftruncate),
    FORBID(SYS_rt_sigprocmask),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
static struct sock_fprog few_filter = {sizeof few / sizeof *few, few};
static struct sock_fprog asking_filter = {sizeof asking / sizeof *asking, asking};
static struct sock_fprog refusing_filter = {sizeof refusing / sizeof *refusing, refusing};
static struct sock_fprog most_filter = {sizeof most / sizeof *most, most};

static long by_instruction(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

static void enter(const char *way) {
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (strcmp(way, "prctl") == 0) {
        REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &few_filter) == 0);
    } else if (strcmp(way, "strict") == 0) {
        REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    } else if (strcmp(way, "syscall") == 0) {
        REQUIRE(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &few_filter) == 0);
    } else if (strcmp(way, "threads") == 0) {
        long all = SECCOMP_FILTER_FLAG_TSYNC;
        REQUIRE(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all, &few_filter) == 0);
    } else if (strcmp(way, "instruction") == 0) {
        pthread_mutex_lock(&mutex);
        long result =
            by_instruction(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (intptr_t)&few_filter);
        pthread_mutex_unlock(&mutex);
        REQUIRE(result == 0);
    } else if (strcmp(way, "outside") == 0 || strcmp(way, "refused") == 0) {
        struct sock_fprog *filter = way[0] == 'o' ? &asking_filter : &refusing_filter;
        REQUIRE(by_instruction(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (intptr_t)filter) == 0);
    } else if (strcmp(way, "section") == 0) {
        pthread_mutex_lock(&mutex);
        REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &few_filter) == 0);
        pthread_mutex_unlock(&mutex);
    } else if (strcmp(way, "counter") == 0) {
        REQUIRE(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
    } else if (strcmp(way, "asks") == 0) {
        REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1 && errno == EFAULT);
        uint32_t action = SECCOMP_RET_KILL_PROCESS;
        REQUIRE(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0);
    }
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    const char *way = argv[1];
    if (strcmp(way, "exec") == 0) {
        rounds();
        REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &most_filter) == 0);
        execl(argv[0], argv[0], "inside", NULL);
        _exit(1);
    }
    // The allocator begins with a request for random numbers, so this comes before the sandbox.
    void *volatile first = malloc(1);
    free(first);
    // A lock that none of the threads ever gets. They wait for it until the process ends.
    static pthread_mutex_t never = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&never);
    if (strcmp(way, "threads") == 0) {
        for (int i = 0; i < THREADS; i++) {
            pthread_t thread;
            REQUIRE(pthread_create(&thread, NULL, work, &never) == 0);
        }
        while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) < THREADS)
            sleep_ms(1);
        sleep_ms(20);
    }
    rounds();
    enter(way);
    rounds();
    if (strcmp(way, "strict") != 0) {
        // For the library, these blocks are more than 2 MiB of a new heap.
        for (int i = 0; i < BLOCKS; i++)
            last = memset(malloc(BLOCK), 1, BLOCK);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) > 0)
        __builtin_ia32_pause();
    say("went on");
    // exit() would make a system call that the strict mode forbids.
    if (strcmp(way, "strict") == 0)
        syscall(SYS_exit, 0);
    exit(0);
}
