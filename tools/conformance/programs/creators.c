// One function creates threads at two lines, through a wrapper: both calls come from the same depth
// of the stack.
#include "truth.h"

static void *says_number(void *name) {
    say("@%s_thread %d", (const char *)name, thread_number());
    return NULL;
}

__attribute__((noinline)) static pthread_t start(const char *name) {
    pthread_t thread;
    say("@%s_site %lu", name, (unsigned long)__builtin_return_address(0));
    REQUIRE(pthread_create(&thread, NULL, says_number, (void *)name) == 0);
    return thread;
}

int main(void) {
    pthread_t first = start("first");
    pthread_t second = start("second");
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
