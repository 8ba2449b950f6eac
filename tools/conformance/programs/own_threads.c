// Threads that the C library does not know. They are made with clone, and have no thread-local
// memory of their own: they use that of the thread that has made them. Meanwhile that thread makes
// no call that could be recorded. Another thread takes the same locks.
#include "truth.h"
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>

enum { THREADS = 4, ROUNDS = 2000, STACK = 256 << 10 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static int by_mutex, by_rwlock, by_spinlock;

static void *work(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        by_mutex++;
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_wrlock(&rwlock);
        by_rwlock++;
        pthread_rwlock_unlock(&rwlock);
        pthread_spin_lock(&spinlock);
        by_spinlock++;
        pthread_spin_unlock(&spinlock);
    }
    return unused;
}

static int work_alone(void *unused) {
    work(unused);
    // Ends only this thread. A return from here would end the process.
    syscall(SYS_exit, 0);
    return 0;
}

// Waits until another thread, or the kernel, has changed a word that is 1. Makes the system call
// itself.
static void wait_for_change(volatile int *word) {
    while (*word == 1) {
        register long timeout __asm__("r10") = 0;
        long result;
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(SYS_futex), "D"(word), "S"(FUTEX_WAIT), "d"(1L), "r"(timeout)
                         : "rcx", "r11", "memory");
    }
}

int main(void) {
    REQUIRE(pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE) == 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_t other;
        REQUIRE(pthread_create(&other, NULL, work, NULL) == 0);
        char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(stack != MAP_FAILED);
        // When the thread has ended, the kernel sets this word to 0 and wakes the thread that waits
        // for the change.
        static volatile int there;
        there = 1;
        int of_this_process = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
        REQUIRE(clone(work_alone, stack + STACK, of_this_process | CLONE_CHILD_CLEARTID, NULL, NULL,
                      NULL, (int *)&there) > 0);
        wait_for_change(&there);
        REQUIRE(pthread_join(other, NULL) == 0);
        munmap(stack, STACK);
    }
    say("%d %d %d", by_mutex, by_rwlock, by_spinlock);
    expect("MutexLock", &mutex, 2 * THREADS * ROUNDS);
    return 0;
}
