// Blocks that each of C++'s operators new allocates, and critical sections that touch these blocks.
// A line of the output has the range of the function that contains the call: the first address, and
// the address after the last byte:
//
// @case NAME LOCK ADDRESS FIRST LAST
#include "truth.h"

#include <cstdint>
#include <new>

namespace {

enum { CASES = 16 };
pthread_mutex_t locks[CASES];
int cases;

struct alignas(64) Aligned {
    char bytes[64];
};

// Each function has its own section of the file, whose bounds the linker defines.
#define CASE(name, expression)                                                                     \
    __attribute__((noinline, section("case_" #name))) void *name() {                               \
        void *volatile block = expression;                                                         \
        return block;                                                                              \
    }                                                                                              \
    extern "C" char __start_case_##name[], __stop_case_##name[];

CASE(plain, new char)
CASE(large, ::operator new(3000))
CASE(array, new char[200])
CASE(quiet, new (std::nothrow) char)
CASE(quiet_array, new (std::nothrow) char[200])
CASE(aligned, new Aligned)
CASE(aligned_array, new Aligned[3])
CASE(by_malloc, malloc(100))

void touch(const char *name, void *block, char *first, char *last) {
    pthread_mutex_t *lock = &locks[cases++];
    pthread_mutex_init(lock, nullptr);
    pthread_mutex_lock(lock);
    *(volatile char *)block = 1;
    pthread_mutex_unlock(lock);
    say("@case %s %lu %lu %lu %lu", name, (unsigned long)(uintptr_t)lock,
        (unsigned long)(uintptr_t)block, (unsigned long)(uintptr_t)first,
        (unsigned long)(uintptr_t)last);
}

} // namespace

#define TOUCH(name) touch(#name, name(), __start_case_##name, __stop_case_##name)

int main() {
    TOUCH(plain);
    TOUCH(large);
    TOUCH(array);
    TOUCH(quiet);
    TOUCH(quiet_array);
    TOUCH(aligned);
    TOUCH(aligned_array);
    TOUCH(by_malloc);
    // Once more, when all symbols are bound.
    TOUCH(array);
    say("done");
    return 0;
}
