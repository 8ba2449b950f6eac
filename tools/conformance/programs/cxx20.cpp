// C++20's semaphores, latches, barriers, atomic waits and joining threads. Their waits use the
// kernel directly and no pthread functions, so only waits that really block are visible.
#include "truth.h"
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

constexpr int threads = 4, rounds = 2000;

static std::atomic<int> turn;
static std::counting_semaphore<8> places(2);
static std::barrier together(threads);
static std::latch finished(threads);
static std::atomic<int> inside, most, passed;

static void work() {
    for (int i = 0; i < rounds / 10; i++) {
        places.acquire();
        int now = ++inside, seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now))
            continue;
        --inside;
        places.release();
        together.arrive_and_wait();
    }
    passed += rounds / 10;
    finished.count_down();
}

static void play(int side) {
    for (int i = 0; i < rounds; i++) {
        for (int now; (now = turn) != side;)
            turn.wait(now);
        turn = !side;
        turn.notify_one();
    }
}

static void slow_turn() {
    std::atomic<int> stage = 0;
    std::jthread other([&] {
        sleep_ms(30);
        stage = 1;
        stage.notify_all();
    });
    stage.wait(0);
}

static void stops() {
    std::mutex m;
    std::condition_variable_any c;
    bool stopped = false;
    {
        std::jthread thread([&](std::stop_token token) {
            std::unique_lock guard(m);
            stopped = !c.wait(guard, token, [] { return false; });
        });
        sleep_ms(5);
    }
    say("stopped %d", stopped);
}

int main() {
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < threads; i++)
            all.emplace_back(work);
        finished.wait();
    }
    REQUIRE(most <= 2);
    {
        std::jthread one(play, 0), two(play, 1);
    }
    slow_turn();
    stops();
    say("passed %d", passed.load());
    expect_all("ThreadCreate", threads + 4);
    expect_all("ThreadJoin", threads + 4);
    say("@%d 0 FutexWait * 1+", getpid());
    say("@%d 0 FutexWake * 1+", getpid());
}
