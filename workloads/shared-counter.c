// Two or more threads classify packets, and count the packets of each class in counters that all
// threads share. No lock is involved: each count is one atomic instruction. But for nearly every
// packet the line with the counters moves from one processor to another, which takes longer than
// classifying the packet.
//
// Fixed: each thread has counters of its own, which are added up at the end.
#include "workload.h"

enum { CLASSES = 8 };
static const long PACKETS = 8000000, CLASSIFYING = 8;

struct counters {
    _Alignas(2 * CACHE_LINE) uint64_t packets[CLASSES];
};

static struct counters of_all, of_thread[MOST_THREADS];

static void count(uint64_t *packets) {
    __atomic_fetch_add(packets, 1, __ATOMIC_RELAXED); /* FINDING busy-atomics */
}

static void *classify(void *argument) {
    long number = (long)(intptr_t)argument;
    uint64_t packet = seed_of(number);
    struct counters own = {{0}};
    for (long i = 0; i < scaled(PACKETS); i++) {
        packet = work(packet, CLASSIFYING);
        if (fixed)
            own.packets[packet % CLASSES]++;
        else
            count(&of_all.packets[packet % CLASSES]);
    }
    of_thread[number] = own;
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    run_threads(classify);
    uint64_t sum = 0;
    for (int class = 0; class < CLASSES; class++) {
        sum += of_all.packets[class];
        for (int thread = 0; thread < threads; thread++) sum += of_thread[thread].packets[class];
    }
    require(sum == (uint64_t)(threads * scaled(PACKETS)), "packets that were counted");
    return 0;
}
