/* A thread passes numbers to another through a lock-free ring with one element. Both yield until
 * there is room, or a number.
 *
 * Fixed: a ring with four thousand elements. */
#include "workload.h"
#include <sched.h>

enum { SHORT = 1, LONG = 4096 };
static const long NUMBERS = 1000000, STEPS = 4;

static uint64_t ring[LONG];
static long put_so_far, taken_so_far;
static uint64_t sum;

static void put(uint64_t number) {
    long at = put_so_far;
    while (at - __atomic_load_n(&taken_so_far, __ATOMIC_ACQUIRE) == (fixed ? LONG : SHORT))
        sched_yield(); /* FINDING polling-yield */
    ring[at % LONG] = number;
    __atomic_store_n(&put_so_far, at + 1, __ATOMIC_RELEASE);
}

static uint64_t take(void) {
    long at = taken_so_far;
    while (__atomic_load_n(&put_so_far, __ATOMIC_ACQUIRE) == at)
        sched_yield(); /* FINDING polling-yield */
    uint64_t number = ring[at % LONG];
    __atomic_store_n(&taken_so_far, at + 1, __ATOMIC_RELEASE);
    return number;
}

static void *operate(void *argument) {
    long me = (intptr_t)argument;
    uint64_t state = seed_of(me);
    for (long i = 0; i < scaled(NUMBERS); i++) {
        state = work(state, STEPS);
        if (me == 0)
            put(1);
        else
            sum += take();
    }
    return NULL;
}

int main(int argc, char **argv) {
    threads = 2;
    read_arguments(argc, argv);
    run_threads(operate);
    require(sum == (uint64_t)scaled(NUMBERS), "numbers that came through");
    return 0;
}
