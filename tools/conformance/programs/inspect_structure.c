// What begins a critical section and what ends it: nested sections, waits, jumps, threads. Each
// part of the program has its own locks and writes to its own words. It prints the addresses of the
// locks and of the words as "@NAME ADDRESS".
#include "truth.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t hand1 = PTHREAD_MUTEX_INITIALIZER, hand2 = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive, jumped = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER, waiting = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t around = PTHREAD_MUTEX_INITIALIZER, thrown = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t tried = PTHREAD_MUTEX_INITIALIZER, filling = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static mtx_t c11;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static volatile uint64_t words[32] __attribute__((aligned(64)));
static volatile int ready;
// This array has more words than an address set may have.
static char large[4 << 20];

static void part(const char *name, volatile void *lock) {
    say("@%s %lu", name, (unsigned long)(uintptr_t)lock);
}

static void *signals_it(void *unused) {
    pthread_mutex_lock(&waiting);
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&waiting);
    return unused;
}

static void *writes_a_word(void *unused) {
    words[20] = 1;
    return unused;
}

static jmp_buf back;
static sigjmp_buf back_from_handler;

static void jumps_back(int number) {
    siglongjmp(back_from_handler, number);
}

int main(void) {
    pthread_t thread;
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &kind);
    pthread_spin_init(&spin, 0);
    mtx_init(&c11, mtx_plain);
    part("words", words);

    part("outer", &outer), part("inner", &inner);
    pthread_mutex_lock(&outer);
    words[0] = 1;
    pthread_mutex_lock(&inner);
    words[1] = 1;
    pthread_mutex_unlock(&inner);
    words[2] = 1;
    pthread_mutex_unlock(&outer);

    part("hand1", &hand1), part("hand2", &hand2);
    pthread_mutex_lock(&hand1);
    words[3] = 1;
    pthread_mutex_lock(&hand2);
    words[4] = 1;
    pthread_mutex_unlock(&hand1);
    words[5] = 1;
    pthread_mutex_unlock(&hand2);

    part("recursive", &recursive);
    pthread_mutex_lock(&recursive);
    words[6] = 1;
    pthread_mutex_lock(&recursive);
    words[7] = 1;
    pthread_mutex_unlock(&recursive);
    words[8] = 1;
    pthread_mutex_unlock(&recursive);

    part("waiting", &waiting);
    pthread_mutex_lock(&waiting);
    words[9] = 1;
    pthread_create(&thread, NULL, signals_it, NULL);
    while (!ready) {
        pthread_cond_wait(&condition, &waiting);
    }
    words[10] = 1;
    pthread_mutex_unlock(&waiting);
    pthread_join(thread, NULL);

    // A wait for the condition of one lock while another lock is held.
    part("around", &around);
    struct timespec soon = {0, 1};
    pthread_mutex_lock(&around);
    words[11] = 1;
    pthread_mutex_lock(&waiting);
    say("timed %d", pthread_cond_timedwait(&condition, &waiting, &soon));
    words[12] = 1;
    pthread_mutex_unlock(&waiting);
    words[13] = 1;
    pthread_mutex_unlock(&around);

    part("shared", &shared);
    pthread_rwlock_rdlock(&shared);
    words[14] = 1;
    pthread_rwlock_unlock(&shared);
    pthread_rwlock_wrlock(&shared);
    words[15] = 1;
    pthread_rwlock_unlock(&shared);

    part("spin", &spin), part("c11", &c11);
    pthread_spin_lock(&spin);
    words[16] = 1;
    pthread_spin_unlock(&spin);
    mtx_lock(&c11);
    words[17] = 1;
    mtx_unlock(&c11);

    part("tried", &tried);
    say("trylock %d %d", pthread_mutex_trylock(&tried), pthread_mutex_trylock(&tried));
    words[24] = 1;
    pthread_mutex_unlock(&tried);

    part("filling", &filling);
    pthread_mutex_lock(&filling);
    words[26] = 1;
    memset(large, 1, sizeof large);
    words[27] = 1;
    pthread_mutex_unlock(&filling);
    say("filled %d", large[sizeof large - 1]);

    // A call of the C library's `syscall`, which the tracer interposes.
    part("asking", &asking);
    pthread_mutex_lock(&asking);
    words[28] = 1;
    words[29] = syscall(SYS_getppid) == syscall(SYS_getppid);
    pthread_mutex_unlock(&asking);

    // A jump out of a section. The lock remains held and is released later.
    part("jumped", &jumped);
    if (setjmp(back) == 0) {
        pthread_mutex_lock(&jumped);
        words[18] = 1;
        longjmp(back, 1);
    }
    words[19] = 1;
    pthread_mutex_unlock(&jumped);

    part("creating", &creating);
    pthread_mutex_lock(&creating);
    pthread_create(&thread, NULL, writes_a_word, NULL);
    words[21] = 1;
    pthread_mutex_unlock(&creating);
    pthread_join(thread, NULL);

    // A jump out of a section by a signal handler, and after it another section.
    part("thrown", &thrown);
    signal(SIGUSR1, jumps_back);
    if (sigsetjmp(back_from_handler, 1) == 0) {
        pthread_mutex_lock(&thrown);
        words[22] = 1;
        raise(SIGUSR1);
    }
    pthread_mutex_unlock(&thrown);
    pthread_mutex_lock(&thrown);
    words[23] = 1;
    pthread_mutex_unlock(&thrown);
    say("done %lu", words[23] + words[20]);
    // The program ends in a section.
    pthread_mutex_lock(&outer);
    words[25] = 1;
    exit(0);
}
