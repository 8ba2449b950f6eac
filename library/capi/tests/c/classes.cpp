// The classes meet the standard's requirements for locks, and work with the standard library.

#include <cstdio>
#include <cstdlib>
#include <shared_mutex>
#include <syncline.hpp>
#include <thread>
#include <type_traits>

using namespace std::chrono_literals;

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                   \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

template <class Lock, class = void>
struct can_try : std::false_type {};
template <class Lock>
struct can_try<Lock, std::void_t<decltype(std::declval<Lock&>().try_lock())>> : std::true_type {};

template <class Lock, class = void>
struct can_time : std::false_type {};
template <class Lock>
struct can_time<Lock, std::void_t<decltype(std::declval<Lock&>().try_lock_for(1s))>>
    : std::true_type {};

template <class Lock, class = void>
struct can_share : std::false_type {};
template <class Lock>
struct can_share<Lock, std::void_t<decltype(std::declval<Lock&>().lock_shared())>>
    : std::true_type {};

template <class Call>
int error_of(Call call) {
    try {
        call();
    } catch (const std::system_error& error) {
        return error.code().value();
    }
    return 0;
}

template <class Lock>
void test_exclusive(Lock& lock) {
    static_assert(!std::is_copy_constructible_v<Lock> && !std::is_move_constructible_v<Lock>);
    long count = 0;
    auto add = [&] {
        for (int i = 0; i < 2000; ++i) {
            std::lock_guard guard(lock);
            ++count;
        }
    };
    std::thread other(add);
    add();
    other.join();
    EXPECT(count == 4000);

    EXPECT(error_of([&] { lock.unlock(); }) == EPERM);
    std::unique_lock guard(lock);
    EXPECT(error_of([&] { lock.lock(); }) == EDEADLK);
    syncline::condition_variable told;
    EXPECT(told.wait_for(guard, 1ms) == std::cv_status::timeout);
    EXPECT(!told.wait_until(guard, std::chrono::system_clock::now() + 1ms, [] { return false; }));
    bool ready = false;
    std::thread teller([&] {
        std::lock_guard guard(lock);
        ready = true;
        told.notify_all();
    });
    told.wait(guard, [&] { return ready; });
    teller.join();
    ready = false;
    std::condition_variable_any any;
    std::thread other_teller([&] {
        std::lock_guard guard(lock);
        ready = true;
        any.notify_all();
    });
    any.wait(guard, [&] { return ready; });
    guard.unlock();
    other_teller.join();
    EXPECT(error_of([&] { told.wait(guard); }) == EPERM);
}

template <class Lock>
void test_try(Lock& lock) {
    Lock second;
    std::scoped_lock both(lock, second);
    std::thread([&] { EXPECT(!lock.try_lock()); }).join();
}

template <class Lock>
void test_timed(Lock& lock) {
    std::unique_lock guard(lock, 10ms);
    EXPECT(guard.owns_lock());
    std::thread([&] {
        EXPECT(!lock.try_lock_for(1ms));
        EXPECT(!lock.try_lock_for(-1h));
        EXPECT(!lock.try_lock_until(std::chrono::system_clock::now() + 1ms));
    }).join();
    guard.unlock();
    EXPECT(lock.try_lock_for(std::chrono::hours::max()));
    lock.unlock();
}

template <class Lock>
void test_shared(Lock& lock) {
    std::shared_lock guard(lock);
    EXPECT(error_of([&] { lock.lock(); }) == EDEADLK);
    std::thread([&] { std::shared_lock as_well(lock); }).join();
}

template <class Lock>
void test(bool tries, bool times, bool shares) {
    EXPECT(can_try<Lock>::value == tries);
    EXPECT(can_time<Lock>::value == times);
    EXPECT(can_share<Lock>::value == shares);
    Lock lock;
    test_exclusive(lock);
    if constexpr (can_try<Lock>::value) test_try(lock);
    if constexpr (can_time<Lock>::value) test_timed(lock);
    if constexpr (can_share<Lock>::value) test_shared(lock);
}

template <class Lock>
void test_delegation() {
    Lock lock;
    long count = 0;
    auto add = [&] {
        for (int i = 0; i < 1000; ++i) {
            auto pending = lock.delegate([&] { return ++count; });
            EXPECT(lock.run([&] { return ++count; }) > 0);
            EXPECT(pending.wait() > 0);
            EXPECT(error_of([&] { pending.wait(); }) == EINVAL);
            (void)lock.delegate([&] { ++count; });
        }
    };
    std::thread other(add);
    add();
    other.join();
    EXPECT(lock.run([&] { return count; }) == 6000);
    auto fails = [] { throw std::system_error(ERANGE, std::generic_category()); };
    EXPECT(error_of([&] { lock.run(fails); }) == ERANGE);
    EXPECT(error_of([&] { lock.delegate(fails).wait(); }) == ERANGE);
    EXPECT(error_of([&] { lock.run([&] { lock.run([] {}); }); }) == EDEADLK);
}

// A static lock needs no code at the program's start.
static syncline::gate before_main;

void test_channels() {
    auto [sender, receiver] = syncline::channel<long>(4);
    std::thread sending([end = std::move(sender)]() mutable {
        for (long i = 0; i < 1000; i++) EXPECT(end.send(i));
    });
    for (long i = 0; i < 1000; i++) EXPECT(receiver.recv() == i);
    sending.join();
    EXPECT(!receiver.recv());
    EXPECT(error_of([&] { receiver.try_recv(); }) == EPIPE);

    syncline::inbox<int> inbox(2, 4);
    auto [first, one] = inbox.connect();
    auto [second, other] = inbox.connect();
    EXPECT(first == 0 && second == 1);
    EXPECT(error_of([&] { inbox.connect(); }) == EAGAIN);
    EXPECT(!inbox.try_recv() && !inbox.recv_for(1ms));
    EXPECT(other.send(7) && one.try_send(8));
    auto sum = inbox.recv()->second + inbox.recv()->second;
    EXPECT(sum == 15);
    EXPECT(one.send(9) && other.send(10));
    auto chosen = inbox.recv_from({1});
    EXPECT(chosen && chosen->first == 1 && chosen->second == 10);
    EXPECT(error_of([&] { inbox.recv_from({2}); }) == EINVAL);

    for (auto how : {syncline::waiting::park, syncline::waiting::yield, syncline::waiting::spin}) {
        auto [batches, many] = syncline::channel<long>(16, how);
        const long numbers[] = {0, 1, 2, 3, 4, 5, 6};
        EXPECT(batches.send_all(numbers, 7) == 7);
        long got[7];
        EXPECT(many.recv_some(got, 4) == 4 && many.recv_some(got + 4, 7) == 3);
        for (long i = 0; i < 7; i++) EXPECT(got[i] == i);
        { auto gone = std::move(many); }
        EXPECT(batches.send_all(numbers, 7) == 0);
    }

    syncline::server server(1);
    std::thread asking([client = server.connect()]() mutable {
        EXPECT(client.call([] { return 42; }) == 42);
        EXPECT(error_of([&] { client.call([] { throw std::system_error(5, std::generic_category()); }); }) == 5);
    });
    server.run();
    asking.join();
}

int main() {
    test_channels();

    { std::lock_guard guard(before_main); }
#define LOCK(name, can_try, can_time) test<syncline::name>(can_try, can_time, false);
#define RWLOCK(name, can_try, can_time) test<syncline::name>(can_try, can_time, true);
#define NAMED_LOCK(name, can_try, can_time)                                                        \
    {                                                                                              \
        syncline::any_lock lock(name);                                                             \
        test_exclusive(lock);                                                                      \
        EXPECT(error_of([&] { if (lock.try_lock()) lock.unlock(); }) == (can_try ? 0 : ENOTSUP));  \
        if (can_time) test_timed(lock);                                                            \
    }
#define NAMED_RWLOCK(name, can_try, can_time)                                                      \
    {                                                                                              \
        syncline::any_rwlock lock(name);                                                           \
        test_exclusive(lock);                                                                      \
        test_shared(lock);                                                                         \
        if (can_time) test_timed(lock);                                                            \
    }
#define DELEGATION(name) test_delegation<syncline::name>();
#include "each_lock.h"
    EXPECT(error_of([] { syncline::any_lock lock("no-such-lock"); }) == EINVAL);
    std::puts("classes");
}
