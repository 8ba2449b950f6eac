// A thread that may make only the system calls write and exit; the kernel kills the process at any
// other. At call sites that are known already, locking makes no system call.
#include "truth.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/prctl.h>

enum { ROUNDS = 200000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int sandboxed;

// This is not SECCOMP_MODE_STRICT, which also forbids the thread to read the time stamp counter.
static void enter_sandbox(void) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

static void rounds(int count) {
    for (int i = 0; i < count; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        pthread_mutex_trylock(&mutex);
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
        pthread_rwlock_wrlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
        pthread_spin_lock(&spin);
        pthread_spin_unlock(&spin);
        sem_post(&semaphore);
        sem_wait(&semaphore);
        pthread_cond_signal(&cond);
    }
}

static void *work(void *argument) {
    (void)argument;
    // The first call of rounds() makes its call sites known, for calls from this line.
    for (int i = 0; i < 2; i++) {
        rounds(i ? ROUNDS : 10);
        if (i == 0)
            enter_sandbox();
    }
    __atomic_store_n(&sandboxed, 1, __ATOMIC_RELEASE);
    syscall(SYS_exit, 0);
    return NULL;
}

int main(void) {
    pthread_spin_init(&spin, 0);
    sem_init(&semaphore, 0, 0);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, work, NULL) == 0);
    for (int i = 0; i < 5000 && !__atomic_load_n(&sandboxed, __ATOMIC_ACQUIRE); i++)
        sleep_ms(2);
    say("ran to its end: %d", sandboxed);
    unsigned long count = ROUNDS + 10;
    expect("MutexLock", &mutex, count);
    expect("MutexTrylock", &mutex, count);
    expect("RwlockRead", &rwlock, count);
    expect("RwlockWrite", &rwlock, count);
    expect("SpinLock", &spin, count);
    expect("SpinInit", &spin, 1);
    expect("SemPost", &semaphore, count);
    expect("SemWait", &semaphore, count);
    expect("SemInit", &semaphore, 1);
    expect("CondSignal", &cond, count);
    _exit(0);
}
