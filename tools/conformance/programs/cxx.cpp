// C++11 to C++17: every mutex of the standard library, locked in every way. Some locks are released
// because an exception leaves the region that holds them, and some are taken in destructors of
// thread_local objects.
#include "truth.h"
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

constexpr int threads = 4, rounds = 10000;

static std::mutex plain, first, second, in_destructor;
static std::recursive_mutex recursive;
static std::timed_mutex timed;
static std::recursive_timed_mutex recursive_timed;
static std::shared_mutex shared;
static std::shared_timed_mutex shared_timed;
static unsigned long protected_count, destroyed;

struct LocksWhenItDies {
    bool used = false;
    ~LocksWhenItDies() {
        std::lock_guard guard(in_destructor);
        destroyed++;
    }
};
static thread_local LocksWhenItDies local;

static void throws_inside(int round) {
    std::lock_guard guard(plain);
    protected_count++;
    if (round % 100 == 0)
        throw std::runtime_error("inside");
}

static void work() {
    unsigned long caught = 0, tries = 0, reads = 0, writes = 0;
    local.used = true;
    for (int i = 0; i < rounds; i++) {
        try {
            throws_inside(i);
        } catch (const std::runtime_error &) {
            caught++;
        }
        {
            std::scoped_lock both(first, second);
        }
        {
            std::lock_guard outer(recursive);
            std::lock_guard inner(recursive);
        }
        if (timed.try_lock_for(10s)) {
            tries++;
            timed.unlock();
        }
        if (i % 10) {
            std::shared_lock guard(shared);
            reads++;
        } else {
            std::unique_lock guard(shared);
            writes++;
        }
    }
    REQUIRE(caught == rounds / 100 && tries == rounds);
    int me = thread_number();
    expect_of(me, "MutexLock", plain.native_handle(), rounds);
    expect_of(me, "MutexLock", recursive.native_handle(), 2 * rounds);
    expect_of(me, "MutexTimedlock", timed.native_handle(), rounds);
    expect_of(me, "RwlockRead", shared.native_handle(), reads);
    expect_of(me, "RwlockWrite", shared.native_handle(), writes);
}

static void refusals() {
    std::lock_guard a(plain);
    std::lock_guard b(timed);
    std::lock_guard c(shared);
    std::lock_guard d(shared_timed);
    std::thread([] {
        say("refused: %d %d %d %d", plain.try_lock(), timed.try_lock_for(1ms), shared.try_lock(),
            shared.try_lock_shared());
        say("refused: %d %d", shared_timed.try_lock_for(1ms), shared_timed.try_lock_shared_for(1ms));
    }).join();
    expect("MutexTrylock.refused", plain.native_handle(), 1);
    expect("MutexTimedlock.timeouts", timed.native_handle(), 1);
    expect("RwlockTryWrite.refused", shared.native_handle(), 1);
    expect("RwlockTryRead.refused", shared.native_handle(), 1);
    expect("RwlockTimedWrite.timeouts", &shared_timed, 1);
    expect("RwlockTimedRead.timeouts", &shared_timed, 1);
    expect("RwlockWrite", &shared_timed, 1);
}

static void conditions() {
    std::mutex m;
    std::condition_variable c;
    std::condition_variable_any any;
    int stage = 0;
    std::thread other([&] {
        std::unique_lock guard(m);
        stage = 1;
        c.notify_one();
        any.wait(guard, [&] { return stage == 2; });
        stage = 3;
        c.notify_all();
    });
    std::unique_lock guard(m);
    c.wait(guard, [&] { return stage == 1; });
    stage = 2;
    any.notify_all();
    bool reached = c.wait_for(guard, 10s, [&] { return stage == 3; });
    bool timeout = c.wait_for(guard, 2ms) == std::cv_status::timeout;
    say("reached %d, timeout %d", reached, timeout);
    guard.unlock();
    other.join();
    expect("CondSignal", c.native_handle(), 1);
    expect("CondBroadcast", c.native_handle(), 1);
    expect("CondTimedwait.timeouts", c.native_handle(), 1);
    say("@%d 0 CondWait %p 0+", getpid(), (void *)c.native_handle());
    say("@%d 0 CondTimedwait %p 0+", getpid(), (void *)c.native_handle());
}

int main() {
    refusals();
    conditions();
    std::vector<std::thread> all;
    for (int i = 0; i < threads; i++)
        all.emplace_back(work);
    for (auto &one : all)
        one.join();
    std::lock_guard guard(recursive_timed);
    say("%lu protected, %lu destroyed", protected_count, destroyed);
    expect("MutexLock", plain.native_handle(), rounds * threads + 1);
    expect("MutexLock", timed.native_handle(), 1);
    expect("RwlockWrite", shared.native_handle(), rounds / 10 * threads + 1);
    expect("MutexLock", in_destructor.native_handle(), destroyed);
    expect("MutexLock", recursive_timed.native_handle(), 1);
    expect_all("ThreadCreate", threads + 2);
}
