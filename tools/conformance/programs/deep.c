// A chain of calls through the executable and a library that is opened at run time, without frame
// pointers except in the innermost function: deep LIBRARY. Every function does something after its
// call, so no call is a tail call.
#include "truth.h"
#include <dlfcn.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int (*enter)(int (*)(int), int);

__attribute__((noinline)) static int take_lock(int value) {
    // The size of this array is known only at run time. So this function has a frame pointer, and
    // the unwind table describes the frame relative to that pointer.
    volatile char room[value + 40];
    room[value] = 1;
    pthread_mutex_lock(&lock);
    int result = room[value] + value;
    pthread_mutex_unlock(&lock);
    return result;
}

#define LINK(name, next)                                                                           \
    __attribute__((noinline)) static int name(int value) {                                         \
        int result = next(value + 1);                                                              \
        __asm__ volatile("" : "+r"(result));                                                       \
        return result ^ value;                                                                     \
    }

LINK(inner_three, take_lock)
LINK(inner_two, inner_three)
LINK(inner_one, inner_two)

__attribute__((noinline)) static int through_library(int value) {
    int result = enter(inner_one, value);
    __asm__ volatile("" : "+r"(result));
    return result + value;
}

LINK(outer_three, through_library)
LINK(outer_two, outer_three)
LINK(outer_one, outer_two)

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (!library)
        say("%s", dlerror());
    REQUIRE(library);
    enter = (int (*)(int (*)(int), int))dlsym(library, "enter_library");
    for (int i = 0; i < 100; i++)
        outer_one(i);
    say("@lock %lu", (unsigned long)&lock);
    expect("MutexLock", &lock, 100);
    return 0;
}
