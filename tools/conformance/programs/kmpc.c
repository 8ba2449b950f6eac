// OpenMP as clang compiles it. The program calls the entry points of LLVM's libomp itself, so the
// test does not need clang.
#include "truth.h"

enum { THREADS = 4, ROUNDS = 2000 };

typedef struct {
    int reserved, flags, reserved2, reserved3;
    const char *source;
} place;

typedef int critical_name[8];
typedef void (*microtask)(int *global, int *bound, ...);

extern void __kmpc_push_num_threads(place *, int, int);
extern int __kmpc_global_thread_num(place *);
extern void __kmpc_fork_call(place *, int, microtask, ...);
extern void __kmpc_critical(place *, int, critical_name *);
extern void __kmpc_critical_with_hint(place *, int, critical_name *, unsigned);
extern void __kmpc_end_critical(place *, int, critical_name *);
extern void __kmpc_barrier(place *, int);

static place here = {0, 2, 0, 0, ";kmpc.c;work;1;1;;"};
static critical_name plain, hinted;
static unsigned long count, hinted_count;

static void work(int *global, int *bound, ...) {
    (void)bound;
    for (int i = 0; i < ROUNDS; i++) {
        __kmpc_critical(&here, *global, &plain);
        count++;
        __kmpc_end_critical(&here, *global, &plain);
        __kmpc_critical_with_hint(&here, *global, &hinted, 0);
        hinted_count++;
        __kmpc_end_critical(&here, *global, &hinted);
    }
    for (int i = 0; i < 20; i++)
        __kmpc_barrier(&here, *global);
}

int main(void) {
    int me = __kmpc_global_thread_num(&here);
    __kmpc_push_num_threads(&here, me, THREADS);
    __kmpc_fork_call(&here, 0, work);
    say("critical %lu %lu", count, hinted_count);
    expect("OmpCritical", &plain, THREADS * ROUNDS);
    expect("OmpCritical", &hinted, THREADS * ROUNDS);
    say("@%d 0 OmpBarrier * %d+", (int)getpid(), THREADS * 20);
    return 0;
}
