// Threads, a signal handler on an alternate stack and a coroutine that use locks with hardly any
// stack left: what the C library's own functions need, and a few hundred bytes more.
//
//   small_stack BYTES    that are left of a thread's 16 KiB (and of the other two)
#include "truth.h"

#include <alloca.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK = 16384, ROUNDS = 300 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned long count, written, spun, left;
static char *lowest;

// Calls only lock functions, because any other function would use some of the stack that is to be
// left.
static void locks(void) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_lock(&other);
        count++;
        pthread_mutex_unlock(&other);
        pthread_cond_signal(&cond);
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
        pthread_rwlock_wrlock(&rwlock);
        written++;
        pthread_rwlock_unlock(&rwlock);
        pthread_spin_lock(&spin);
        spun++;
        pthread_spin_unlock(&spin);
    }
}

// Uses the whole stack except for the part that is to be left, and then calls locks().
__attribute__((noinline)) static void with_little(char *low) {
    char here;
    size_t room = (size_t)(&here - low);
    if (room > left) {
        volatile char *taken = alloca(room - left);
        taken[0] = taken[room - left - 1] = 1;
        __asm__ volatile("" : : "r"(taken) : "memory");
        locks();
        // This keeps the compiler from making a tail call, which would free the array first.
        taken[0] = 2;
    }
}

static void *thread(void *low) {
    with_little(low);
    return NULL;
}

static void handler(int signal) {
    (void)signal;
    with_little(lowest);
}

static ucontext_t main_context, coroutine;

static void in_coroutine(void) {
    with_little(lowest);
}

static void *wait_for(void *kind) {
    switch (*(int *)kind) {
    case 0: pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex); break;
    case 1: pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock); break;
    case 2: pthread_rwlock_wrlock(&rwlock), pthread_rwlock_unlock(&rwlock); break;
    case 3: pthread_spin_lock(&spin), pthread_spin_unlock(&spin); break;
    }
    return NULL;
}

// Makes all first calls and first waits, in which the C library binds functions and looks things
// up. These are not tested here.
static void bind_all(void) {
    locks();
    for (int kind = 0; kind < 4; kind++) {
        pthread_mutex_lock(&mutex), pthread_rwlock_wrlock(&rwlock), pthread_spin_lock(&spin);
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, wait_for, &kind) == 0);
        sleep_ms(10);
        pthread_mutex_unlock(&mutex), pthread_rwlock_unlock(&rwlock), pthread_spin_unlock(&spin);
        REQUIRE(pthread_join(thread, NULL) == 0);
    }
}

static char *page_aligned(size_t bytes) {
    // The page below is unreadable, so a function that needs more stack raises a fault.
    char *memory = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED && mprotect(memory, 4096, PROT_NONE) == 0);
    return memory + 4096;
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    left = strtoul(argv[1], NULL, 10);
    pthread_spin_init(&spin, 0);
    bind_all();
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        char *stack = page_aligned(STACK);
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        REQUIRE(pthread_attr_setstack(&attributes, stack, STACK) == 0);
        REQUIRE(pthread_create(&threads[i], &attributes, thread, stack) == 0);
    }
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);

    lowest = page_aligned(STACK);
    stack_t alternate = {.ss_sp = lowest, .ss_size = STACK};
    REQUIRE(sigaltstack(&alternate, NULL) == 0);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    REQUIRE(sigaction(SIGUSR1, &action, NULL) == 0);
    raise(SIGUSR1);

    lowest = page_aligned(STACK);
    REQUIRE(getcontext(&coroutine) == 0);
    coroutine.uc_stack.ss_sp = lowest;
    coroutine.uc_stack.ss_size = STACK;
    coroutine.uc_link = &main_context;
    makecontext(&coroutine, in_coroutine, 0);
    REQUIRE(swapcontext(&main_context, &coroutine) == 0);
    say("%lu", count + written + spun);
    return 0;
}
