// A critical section that first tries to do its work in a hardware transaction. If the transaction
// is aborted, it works without one, as libraries do that elide locks. On a processor without
// transactions, it does not try.
#include "truth.h"

#include <stdint.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t words[32] __attribute__((aligned(64)));

__attribute__((target("rtm"), noinline)) static void add(void) {
    if (__builtin_cpu_supports("rtm")) {
        unsigned status = __builtin_ia32_xbegin();
        if (status == ~0u) {
            words[0]++;
            __builtin_ia32_xend();
            return;
        }
        words[1] = 1;
    }
    words[0]++;
}

int main(void) {
    say("@words %lu", (unsigned long)(uintptr_t)words);
    say("@lock %lu", (unsigned long)(uintptr_t)&lock);
    say("@tries %d", __builtin_cpu_supports("rtm") != 0);
    pthread_mutex_lock(&lock);
    add();
    words[2] = 1;
    pthread_mutex_unlock(&lock);
    say("done %lu", (unsigned long)words[0]);
    return 0;
}
