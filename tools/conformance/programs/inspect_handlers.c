// A signal handler takes a lock while it interrupts a section that is being traced. This happens in
// two situations: while the section waits in a function of the C library, and between two
// instructions of the section. In the second case, the stack pointer is the one that the section
// had at an earlier call. Neither of the handler's acquisitions belongs to the section.
#include "truth.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

enum { WORDS = 32 };
static volatile uint64_t words[WORDS] __attribute__((aligned(64)));
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER,
                       called = PTHREAD_MUTEX_INITIALIZER, handlers = PTHREAD_MUTEX_INITIALIZER,
                       warm = PTHREAD_MUTEX_INITIALIZER;
static volatile int handled, spinning, blocked;

// Calls a function on another stack. The stack pointer is the same in each call.
static char other_stack[65536] __attribute__((aligned(64)));
int call_there(void *stack_end, void *function, void *argument);
__asm__(
    ".text\n"
    "call_there:\n"
    "  push %rbx\n"
    "  mov %rsp, %rbx\n"
    "  mov %rdi, %rsp\n"
    "  mov %rdx, %rdi\n"
    "  call *%rsi\n"
    "  mov %rbx, %rsp\n"
    "  pop %rbx\n"
    "  ret\n");

static int there(void *function, pthread_mutex_t *lock) {
    return call_there(other_stack + sizeof other_stack, function, lock);
}

static void handler(int unused) {
    (void)unused;
    int before = errno;
    words[8]++;
    if (spinning) {
        REQUIRE(there(pthread_mutex_trylock, &handlers) == 0);
    } else {
        REQUIRE(pthread_mutex_lock(&handlers) == 0);
    }
    words[9]++;
    REQUIRE(pthread_mutex_unlock(&handlers) == 0);
    errno = before;
    handled++;
}

static void *run(void *unused) {
    (void)unused;
    pthread_mutex_lock(&warm);
    pthread_mutex_unlock(&warm);

    // The signal comes during a call: the first thread holds `inner`.
    pthread_mutex_lock(&outer);
    words[0] = 1;
    blocked = 1;
    pthread_mutex_lock(&inner);
    words[1] = 1;
    pthread_mutex_unlock(&inner);
    words[2] = 1;
    pthread_mutex_unlock(&outer);

    // The signal comes between instructions, after a call from this point of the stack.
    pthread_mutex_lock(&outer);
    words[3] = 1;
    REQUIRE(there(pthread_mutex_trylock, &called) == 0);
    words[4] = 1;
    spinning = 1;
    for (int before = handled; handled == before;) {
    }
    spinning = 0;
    words[5] = 1;
    pthread_mutex_unlock(&called);
    words[6] = 1;
    pthread_mutex_unlock(&outer);
    return NULL;
}

static void pause_for_a_moment(void) {
    nanosleep(&(struct timespec){0, 20000000}, NULL);
}

int main(void) {
    struct sigaction action = {.sa_handler = handler};
    REQUIRE(sigaction(SIGUSR1, &action, NULL) == 0);
    pthread_mutex_lock(&inner);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, run, NULL) == 0);
    while (!blocked) {
    }
    for (int times = 1; times <= 3; times++) {
        pause_for_a_moment();
        REQUIRE(pthread_kill(thread, SIGUSR1) == 0);
        while (handled < times) {
        }
    }
    pthread_mutex_unlock(&inner);
    while (!spinning) {
    }
    pause_for_a_moment();
    REQUIRE(pthread_kill(thread, SIGUSR1) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    say("@words %lu", (unsigned long)(uintptr_t)words);
    say("@outer %lu", (unsigned long)(uintptr_t)&outer);
    say("@inner %lu", (unsigned long)(uintptr_t)&inner);
    say("@called %lu", (unsigned long)(uintptr_t)&called);
    say("%d handled, %lu", handled, (unsigned long)words[9]);
    return 0;
}
