// Stacks that are not the thread's own. Coroutines use locks on their own stacks, and switch while
// they hold a lock. Signal handlers run on an alternate stack. Threads have the smallest possible
// stack.
#include "truth.h"
#include <alloca.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { COROUTINES = 16, ROUNDS = 500, STACK = 8 << 10, THREADS = 8 };

static pthread_mutex_t own[COROUTINES], shared = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t in_handler = PTHREAD_MUTEX_INITIALIZER, tiny = PTHREAD_MUTEX_INITIALIZER;
static ucontext_t scheduler, contexts[COROUTINES];
static int done;

// A stack with an unreadable page below it. So an overflow raises a fault at once.
static void *stack_of(size_t size) {
    size_t whole = (size + 4095) / 4096 * 4096;
    char *place =
        mmap(NULL, 4096 + whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    REQUIRE(place != MAP_FAILED);
    REQUIRE(mprotect(place + 4096, whole, PROT_READ | PROT_WRITE) == 0);
    return place + 4096;
}

static void coroutine(int number) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&own[number]);
        swapcontext(&contexts[number], &scheduler);
        pthread_mutex_lock(&shared);
        pthread_mutex_unlock(&shared);
        pthread_mutex_unlock(&own[number]);
    }
    done++;
}

static void coroutines(void) {
    for (int i = 0; i < COROUTINES; i++) {
        pthread_mutex_init(&own[i], NULL);
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stack_of(STACK);
        contexts[i].uc_stack.ss_size = STACK;
        contexts[i].uc_link = &scheduler;
        makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
    }
    for (int round = 0; round <= ROUNDS; round++)
        for (int i = 0; i < COROUTINES; i++)
            swapcontext(&scheduler, &contexts[i]);
    say("%d coroutines ended", done);
    for (int i = 0; i < COROUTINES; i++) {
        expect("MutexInit", &own[i], 1);
        expect("MutexLock", &own[i], ROUNDS);
    }
    expect("MutexLock", &shared, COROUTINES * ROUNDS);
}

static void handler(int number) {
    (void)number;
    pthread_mutex_lock(&in_handler);
    pthread_mutex_unlock(&in_handler);
}

static void alternate_stack(void) {
    // The size that the kernel needs to call the handler, and a little more for the handler itself.
    size_t size = sysconf(_SC_MINSIGSTKSZ) + 4096;
    stack_t stack = {.ss_sp = stack_of(size), .ss_size = size};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    REQUIRE(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    for (int i = 0; i < 200; i++)
        REQUIRE(raise(SIGUSR1) == 0);
    say("200 signals");
    expect("MutexLock", &in_handler, 200);
}

static void *in_tiny_stack(void *argument) {
    volatile char *used = alloca(2048);
    used[0] = 1;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&tiny);
        if (i % 50 == 0)
            sched_yield();
        pthread_mutex_unlock(&tiny);
    }
    return argument;
}

static void tiny_stacks(void) {
    pthread_t threads[THREADS];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    REQUIRE(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], &attributes, in_tiny_stack, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    say("tiny stacks");
    expect("MutexLock", &tiny, THREADS * ROUNDS);
}

int main(void) {
    coroutines();
    alternate_stack();
    tiny_stacks();
    return 0;
}
