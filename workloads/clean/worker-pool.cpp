// A pool of C++ threads takes slices of a vector from a queue, and the main thread waits for
// the results. Slices take milliseconds; each wake-up is for one worker.
#include "workload.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

static const long SLICES = 600, LENGTH = 5000, STEPS = 300;

class Pool {
    std::mutex mutex;
    std::condition_variable task_came;
    std::deque<std::packaged_task<uint64_t()>> tasks;
    bool closed = false;
    std::vector<std::thread> workers;

    void serve() {
        for (;;) {
            std::unique_lock<std::mutex> lock(mutex);
            task_came.wait(lock, [this] { return closed || !tasks.empty(); });
            if (tasks.empty()) return;
            auto task = std::move(tasks.front());
            tasks.pop_front();
            lock.unlock();
            task();
        }
    }

public:
    explicit Pool(int size) {
        for (int i = 0; i < size; i++) workers.emplace_back([this] { serve(); });
    }
    ~Pool() {
        {
            std::lock_guard<std::mutex> lock(mutex);
            closed = true;
        }
        task_came.notify_all();
        for (auto &worker : workers) worker.join();
    }
    std::future<uint64_t> add(std::function<uint64_t()> function) {
        std::packaged_task<uint64_t()> task(std::move(function));
        auto result = task.get_future();
        {
            std::lock_guard<std::mutex> lock(mutex);
            tasks.push_back(std::move(task));
        }
        task_came.notify_one();
        return result;
    }
};

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    std::vector<unsigned> numbers(LENGTH, 2);
    uint64_t sum = 0;
    start_measuring();
    {
        Pool pool(threads);
        std::vector<std::future<uint64_t>> results;
        for (long slice = 0; slice < scaled(SLICES); slice++)
            results.push_back(pool.add([&numbers, slice] {
                uint64_t state = seed_of(slice), sum = 0;
                for (unsigned number : numbers) {
                    state = work(state, STEPS);
                    sum += state != 0 ? number : 0;
                }
                return sum;
            }));
        for (auto &result : results) sum += result.get();
    }
    stop_measuring();
    require(sum == uint64_t(2 * LENGTH * scaled(SLICES)), "the sum of all slices");
    return 0;
}
