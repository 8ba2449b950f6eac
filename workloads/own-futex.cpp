// A program has a mutex of its own, three states in a futex word, and one such mutex for all its
// tables. From outside, nothing shows how often the lock is taken. A recorder only sees that
// threads wait in the kernel.
//
// Fixed: a mutex for each table.
#include "workload.h"

#include <atomic>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

class FutexMutex {
    std::atomic<int> state{0}; // 0 free, 1 held, 2 held and a thread may sleep

public:
    void lock() {
        int expected = 0;
        if (state.compare_exchange_strong(expected, 1, std::memory_order_acquire)) return;
        while (state.exchange(2, std::memory_order_acquire) != 0)
            syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, 2, nullptr); /* FINDING busy-futex */
    }
    void unlock() {
        if (state.exchange(0, std::memory_order_release) == 2)
            syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 1);
    }
};

enum { TABLES = 256, ENTRIES = 1024 };
static const long OPERATIONS = 150000, PREPARING = 400;

struct alignas(2 * CACHE_LINE) Table {
    FutexMutex mutex;
    long entries[ENTRIES];
};

static FutexMutex mutex_of_all;
static Table tables[TABLES];

static void add(Table &table, uint64_t to) {
    FutexMutex &mutex = fixed ? table.mutex : mutex_of_all;
    mutex.lock();
    for (int i = 0; i < ENTRIES; i++) table.entries[(to + 7 * i) % ENTRIES]++;
    mutex.unlock();
}

static void *operate(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    for (long i = 0; i < scaled(OPERATIONS); i++) {
        state = work(state, PREPARING);
        add(tables[state % TABLES], state >> 32);
    }
    return nullptr;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    run_threads(operate);
    long sum = 0;
    for (Table &table : tables)
        for (long entry : table.entries) sum += entry;
    require(sum == ENTRIES * threads * scaled(OPERATIONS), "entries that were added to");
    return 0;
}
