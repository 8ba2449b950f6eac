// The middle part of the chain of calls in deep.c.

#define LINK(name, next)                                                                           \
    __attribute__((noinline)) static int name(int (*back)(int), int value) {                       \
        int result = next;                                                                         \
        __asm__ volatile("" : "+r"(result));                                                       \
        return result * 3 + value;                                                                 \
    }

LINK(library_three, back(value))
LINK(library_two, library_three(back, value))
LINK(library_one, library_two(back, value))

int enter_library(int (*back)(int), int value) {
    int result = library_one(back, value);
    __asm__ volatile("" : "+r"(result));
    return result + 1;
}
