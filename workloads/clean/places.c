/* A device serves four requests at a time, and a semaphore counts its free slots. Threads that
 * wait for a slot wait for the device, which has no capacity left. */
#include "workload.h"

#include <semaphore.h>

static const long REQUESTS = 60, STEPS = 100000, DEVICE_NANOSECONDS = 4000000;
enum { PLACES = 4 };

static sem_t places;
static int inside, most_inside;
static long served;

static void *request(void *argument) {
    const struct timespec device = {0, DEVICE_NANOSECONDS};
    uint64_t state = seed_of((intptr_t)argument);
    for (long i = 0; i < scaled(REQUESTS); i++) {
        state = work(state, STEPS);
        sem_wait(&places);
        int now_inside = __atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED);
        if (now_inside > __atomic_load_n(&most_inside, __ATOMIC_RELAXED))
            __atomic_store_n(&most_inside, now_inside, __ATOMIC_RELAXED);
        nanosleep(&device, NULL);
        __atomic_fetch_sub(&inside, 1, __ATOMIC_RELAXED);
        sem_post(&places);
        __atomic_fetch_add(&served, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

int main(int argc, char **argv) {
    threads = 12;
    read_arguments(argc, argv);
    sem_init(&places, 0, PLACES);
    run_threads(request);
    require(served == threads * scaled(REQUESTS), "requests that were served");
    require(most_inside <= PLACES, "no more than four at a time");
    return 0;
}
