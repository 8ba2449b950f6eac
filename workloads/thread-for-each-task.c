/* A thread is made for each small file that is to be checked, sixteen at a time.
 *
 * Fixed: four threads check all of them. */
#include "workload.h"

enum { AT_A_TIME = 16 };
static const long FILES = 40000, STEPS = 2000;

static long checked;

static void check(long file) {
    uint64_t sum = work(seed_of(file), STEPS);
    __atomic_fetch_add(&checked, sum != 0, __ATOMIC_RELAXED);
}

static void *check_one(void *argument) {
    check((intptr_t)argument);
    return NULL;
}

static void *check_all(void *argument) {
    for (long file = (intptr_t)argument; file < scaled(FILES); file += threads)
        check(file);
    return NULL;
}

static void one_thread_each(void) {
    pthread_t at_work[AT_A_TIME];
    for (long file = 0; file < scaled(FILES);) {
        int n = 0;
        for (; n < AT_A_TIME && file < scaled(FILES); n++, file++)
            pthread_create(&at_work[n], NULL, check_one, (void *)(intptr_t)file); /* FINDING thread-for-each-task */
        while (n > 0)
            pthread_join(at_work[--n], NULL);
    }
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    if (fixed)
        run_threads(check_all);
    else {
        start_measuring();
        one_thread_each();
        stop_measuring();
    }
    require(checked == scaled(FILES), "files that were checked");
    return 0;
}
