// Syncline's locks as classes of C++17, for use with the standard library's lock holders:
// std::lock_guard, std::scoped_lock, std::unique_lock, std::shared_lock.
//
//     syncline::gate lock;
//
//     std::lock_guard guard(lock);
//     total += 1;
//
// Each lock of syncline.h is a class: syncline::mcs, syncline::rw_fair, ... A class meets the
// standard's requirements as far as its lock can:
//
//     all                            BasicLockable
//     locks that can be tried        Lockable
//     locks whose waiters give up    TimedLockable
//     rw_...                         also SharedLockable, SharedTimedLockable
//
// syncline::any_lock and syncline::any_rwlock are chosen by name at run time.
// syncline::condition_variable works with all of them.
//
// Delegation locks (syncline::qd, ...) get sections instead:
//
//     auto length = lock.delegate([&] { queue.push(order); return queue.size(); });
//     ...
//     std::cout << length.wait();
//
// Channels are syncline::sender, syncline::receiver and syncline::inbox, and servers are
// syncline::server and syncline::client: syncline/channels.hpp describes them.
//
// A mistake (such as locking a lock that this thread holds, or unlocking one that it doesn't)
// throws std::system_error with the error number of syncline.h as its code. In a destructor the
// exception ends the program, for example if a lock is destroyed while it is in use. Locks can be
// neither copied nor moved.

#ifndef SYNCLINE_HPP
#define SYNCLINE_HPP

#include <chrono>
#include <condition_variable>
#include <cerrno>
#include <exception>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include "syncline.h"

namespace syncline {

namespace detail {

[[noreturn]] inline void fail(int error) {
    throw std::system_error(error, std::generic_category(), syncline_strerror(error));
}

inline void expect(int error) {
    if (error != 0) fail(error);
}

// Whether a call that may be refused with this error has succeeded.
inline bool unless(int refusal, int error) {
    if (error == refusal) return false;
    expect(error);
    return true;
}

// The time on the library's clock after this duration of another clock.
template <class Rep, class Period>
timespec deadline(const std::chrono::duration<Rep, Period>& patience) {
    using namespace std::chrono;
    using seconds = std::chrono::duration<double>;
    if (patience <= patience.zero()) return syncline_deadline(0);
    // Durations beyond a century would overflow, and are cut.
    const seconds century(100.0 * 366 * 24 * 3600);
    const auto shorter = seconds(patience) < century;
    const auto time = shorter ? ceil<nanoseconds>(patience) : duration_cast<nanoseconds>(century);
    return syncline_deadline(static_cast<uint64_t>(time.count()));
}

// Repeats a call with deadlines until the time has come on `Clock`, whose speed may differ.
template <class Clock, class Duration, class Call>
bool until(const std::chrono::time_point<Clock, Duration>& time, Call call) {
    for (;;) {
        const timespec deadline = detail::deadline(time - Clock::now());
        if (unless(ETIMEDOUT, call(&deadline))) return true;
        if (Clock::now() >= time) return false;
    }
}

// A lock of the C interface, and the functions `Calls` for it.
template <class Calls>
class basic_lock {
public:
    using native_handle_type = typename Calls::type*;

    constexpr basic_lock() noexcept = default;
    basic_lock(const basic_lock&) = delete;
    basic_lock& operator=(const basic_lock&) = delete;
    // A lock whose constructor has failed was never initialised.
    ~basic_lock() { unless(EINVAL, Calls::destroy(&lock_)); }

    void lock() { expect(Calls::lock(&lock_)); }
    void unlock() { expect(Calls::unlock(&lock_)); }

    native_handle_type native_handle() noexcept { return &lock_; }

    // For condition_variable.
    int wait(syncline_cond_t* cond) { return Calls::wait(&lock_, cond); }
    int wait(syncline_cond_t* cond, const timespec* deadline) {
        return Calls::timedwait(&lock_, cond, deadline);
    }

protected:
    typename Calls::type lock_{};
};

template <class Calls>
class lockable : public basic_lock<Calls> {
public:
    bool try_lock() { return unless(EBUSY, Calls::trylock(&this->lock_)); }
};

template <class Calls>
class timed_lockable : public lockable<Calls> {
public:
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period>& patience) {
        const timespec deadline = detail::deadline(patience);
        return unless(ETIMEDOUT, Calls::timedlock(&this->lock_, &deadline));
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration>& time) {
        return until(time, [&](const timespec* deadline) {
            return Calls::timedlock(&this->lock_, deadline);
        });
    }
};

// `Base`, with the functions for readers.
template <class Calls, class Base>
class basic_shared : public Base {
public:
    void lock_shared() { expect(Calls::rdlock(&this->lock_)); }
    void unlock_shared() { expect(Calls::unlock(&this->lock_)); }
};

template <class Calls, class Base>
class shared_lockable : public basic_shared<Calls, Base> {
public:
    bool try_lock_shared() { return unless(EBUSY, Calls::tryrdlock(&this->lock_)); }
};

template <class Calls, class Base>
class shared_timed_lockable : public shared_lockable<Calls, Base> {
public:
    template <class Rep, class Period>
    bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& patience) {
        const timespec deadline = detail::deadline(patience);
        return unless(ETIMEDOUT, Calls::timedrdlock(&this->lock_, &deadline));
    }

    template <class Clock, class Duration>
    bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& time) {
        return until(time, [&](const timespec* deadline) {
            return Calls::timedrdlock(&this->lock_, deadline);
        });
    }
};

// The outcome of a section: its result, or its exception.
template <class Function>
class section {
public:
    using result = std::invoke_result_t<Function&>;

    explicit section(Function function) : function_(std::move(function)) {}

    // For C, which calls it once with the address of this object.
    static void run(void* self) noexcept { static_cast<section*>(self)->call(); }

    result take() {
        if (exception_) std::rethrow_exception(exception_);
        if constexpr (!std::is_void_v<result>) return std::move(*result_);
    }

private:
    struct nothing {};

    void call() noexcept {
        try {
            if constexpr (std::is_void_v<result>) {
                function_();
            } else {
                result_.emplace(function_());
            }
        } catch (...) {
            exception_ = std::current_exception();
        }
    }

    Function function_;
    std::optional<std::conditional_t<std::is_void_v<result>, nothing, result>> result_;
    std::exception_ptr exception_;
};

// A delegated section, which is waited for once: by wait(), or by the destructor.
template <class Function>
class pending {
public:
    pending(pending&&) noexcept = default;
    pending& operator=(pending&&) = delete;
    ~pending() {
        if (state_) expect(syncline_pending_wait(&state_->pending));
    }

    // Waits for the section, and returns its result or throws its exception.
    typename section<Function>::result wait() {
        if (!state_) fail(EINVAL);
        expect(syncline_pending_wait(&state_->pending));
        const auto state = std::move(state_);
        return state->section.take();
    }

private:
    template <class>
    friend class delegation;

    struct state {
        explicit state(Function function) : section(std::move(function)) {}
        detail::section<Function> section;
        syncline_pending_t pending{};
    };

    explicit pending(std::unique_ptr<state> state) noexcept : state_(std::move(state)) {}

    std::unique_ptr<state> state_;
};

// A delegation lock of the C interface.
template <class Calls>
class delegation {
public:
    constexpr delegation() noexcept = default;
    delegation(const delegation&) = delete;
    delegation& operator=(const delegation&) = delete;
    ~delegation() { expect(Calls::destroy(&lock_)); }

    // Runs a section, in this thread or another, and returns its result or throws its exception.
    template <class Function>
    std::invoke_result_t<Function&> run(Function function) {
        section<Function> section(std::move(function));
        void* argument = &section;
        expect(Calls::run(&lock_, &detail::section<Function>::run, argument));
        return section.take();
    }

    // Delegates a section, and returns an object that waits for it.
    template <class Function>
    [[nodiscard]] pending<Function> delegate(Function function) {
        using state = typename pending<Function>::state;
        auto state_ = std::make_unique<state>(std::move(function));
        void* argument = &state_->section;
        expect(Calls::delegate(&lock_, &section<Function>::run, argument, &state_->pending));
        return pending<Function>(std::move(state_));
    }

private:
    typename Calls::type lock_{};
};

// The C functions of a lock, under the names that the classes above use. Functions that a lock
// lacks cause no error, since its class doesn't call them.
#define SYNCLINE_CALL(name, as, call)                                                              \
    template <class... Arguments>                                                                  \
    static int as(type* lock, Arguments... arguments) noexcept {                                   \
        return syncline_##name##_##call(lock, arguments...);                                       \
    }
#define SYNCLINE_CALLS(name)                                                                       \
    using type = syncline_##name##_t;                                                              \
    SYNCLINE_CALL(name, unlock, unlock)                                                            \
    SYNCLINE_CALL(name, wait, wait)                                                                \
    SYNCLINE_CALL(name, timedwait, timedwait)                                                      \
    SYNCLINE_CALL(name, destroy, destroy)
#define SYNCLINE_EXCLUSIVE_CALLS(name)                                                             \
    struct name##_calls {                                                                          \
        SYNCLINE_CALLS(name)                                                                       \
        SYNCLINE_CALL(name, lock, lock)                                                            \
        SYNCLINE_CALL(name, trylock, trylock)                                                      \
        SYNCLINE_CALL(name, timedlock, timedlock)                                                  \
    };
#define SYNCLINE_SHARED_CALLS(name)                                                                \
    struct name##_calls {                                                                          \
        SYNCLINE_CALLS(name)                                                                       \
        SYNCLINE_CALL(name, lock, wrlock)                                                          \
        SYNCLINE_CALL(name, trylock, trywrlock)                                                    \
        SYNCLINE_CALL(name, timedlock, timedwrlock)                                                \
        SYNCLINE_CALL(name, rdlock, rdlock)                                                        \
        SYNCLINE_CALL(name, tryrdlock, tryrdlock)                                                  \
        SYNCLINE_CALL(name, timedrdlock, timedrdlock)                                              \
    };
#define SYNCLINE_DELEGATION_CALLS(name)                                                            \
    struct name##_calls {                                                                          \
        using type = syncline_##name##_t;                                                          \
        SYNCLINE_CALL(name, run, run)                                                              \
        SYNCLINE_CALL(name, delegate, delegate)                                                    \
        SYNCLINE_CALL(name, destroy, destroy)                                                      \
    };

SYNCLINE_EXCLUSIVE_CALLS(lock)
SYNCLINE_SHARED_CALLS(rwlock)

template <class Calls>
using rwlock = basic_shared<Calls, basic_lock<Calls>>;
template <class Calls>
using try_rwlock = shared_lockable<Calls, lockable<Calls>>;
template <class Calls>
using timed_rwlock = shared_timed_lockable<Calls, timed_lockable<Calls>>;

} // namespace detail

// ---- The locks of the catalogue ----------------------------------------------------------------

#define SYNCLINE_CLASS(name, kind, calls)                                                          \
    namespace detail {                                                                             \
    calls(name)                                                                                    \
    }                                                                                              \
    using name = detail::kind<detail::name##_calls>;
#define SYNCLINE_LOCK(name) SYNCLINE_CLASS(name, basic_lock, SYNCLINE_EXCLUSIVE_CALLS)
#define SYNCLINE_TRY_LOCK(name) SYNCLINE_CLASS(name, lockable, SYNCLINE_EXCLUSIVE_CALLS)
#define SYNCLINE_TIMED_LOCK(name) SYNCLINE_CLASS(name, timed_lockable, SYNCLINE_EXCLUSIVE_CALLS)
#define SYNCLINE_RWLOCK(name) SYNCLINE_CLASS(name, rwlock, SYNCLINE_SHARED_CALLS)
#define SYNCLINE_TRY_RWLOCK(name) SYNCLINE_CLASS(name, try_rwlock, SYNCLINE_SHARED_CALLS)
#define SYNCLINE_TIMED_RWLOCK(name) SYNCLINE_CLASS(name, timed_rwlock, SYNCLINE_SHARED_CALLS)
#define SYNCLINE_DELEGATION(name) SYNCLINE_CLASS(name, delegation, SYNCLINE_DELEGATION_CALLS)

#include "syncline/locks.hpp"

#undef SYNCLINE_LOCK
#undef SYNCLINE_TRY_LOCK
#undef SYNCLINE_TIMED_LOCK
#undef SYNCLINE_RWLOCK
#undef SYNCLINE_TRY_RWLOCK
#undef SYNCLINE_TIMED_RWLOCK
#undef SYNCLINE_DELEGATION
#undef SYNCLINE_CLASS
#undef SYNCLINE_DELEGATION_CALLS
#undef SYNCLINE_SHARED_CALLS
#undef SYNCLINE_EXCLUSIVE_CALLS
#undef SYNCLINE_CALLS
#undef SYNCLINE_CALL

// ---- Locks chosen by name ----------------------------------------------------------------------

// A lock by its name, such as "mcs-park". The constructor throws std::system_error with EINVAL if
// no lock has this name. Operations that the lock lacks throw std::system_error with ENOTSUP.
class any_lock : public detail::timed_lockable<detail::lock_calls> {
public:
    explicit any_lock(const char* name) { detail::expect(syncline_lock_init(&lock_, name)); }
};

// A lock that readers share, by its name.
class any_rwlock : public detail::timed_rwlock<detail::rwlock_calls> {
public:
    explicit any_rwlock(const char* name) { detail::expect(syncline_rwlock_init(&lock_, name)); }
};

// ---- Condition variables -----------------------------------------------------------------------

// Like std::condition_variable, for every lock above. With reader-writer locks, only writers wait.
class condition_variable {
public:
    constexpr condition_variable() noexcept = default;
    condition_variable(const condition_variable&) = delete;
    condition_variable& operator=(const condition_variable&) = delete;
    ~condition_variable() { detail::expect(syncline_cond_destroy(&cond_)); }

    void notify_one() noexcept { syncline_cond_signal(&cond_); }
    void notify_all() noexcept { syncline_cond_broadcast(&cond_); }

    template <class Lock>
    void wait(std::unique_lock<Lock>& guard) {
        detail::expect(held(guard).wait(&cond_));
    }

    template <class Lock, class Condition>
    void wait(std::unique_lock<Lock>& guard, Condition condition) {
        while (!condition()) wait(guard);
    }

    template <class Lock, class Clock, class Duration>
    std::cv_status wait_until(std::unique_lock<Lock>& guard,
                              const std::chrono::time_point<Clock, Duration>& time) {
        const timespec deadline = detail::deadline(time - Clock::now());
        detail::unless(ETIMEDOUT, held(guard).wait(&cond_, &deadline));
        return Clock::now() < time ? std::cv_status::no_timeout : std::cv_status::timeout;
    }

    template <class Lock, class Clock, class Duration, class Condition>
    bool wait_until(std::unique_lock<Lock>& guard,
                    const std::chrono::time_point<Clock, Duration>& time, Condition condition) {
        while (!condition()) {
            if (wait_until(guard, time) == std::cv_status::timeout) return condition();
        }
        return true;
    }

    template <class Lock, class Rep, class Period>
    std::cv_status wait_for(std::unique_lock<Lock>& guard,
                            const std::chrono::duration<Rep, Period>& patience) {
        return wait_until(guard, std::chrono::steady_clock::now() + patience);
    }

    template <class Lock, class Rep, class Period, class Condition>
    bool wait_for(std::unique_lock<Lock>& guard,
                  const std::chrono::duration<Rep, Period>& patience, Condition condition) {
        return wait_until(guard, std::chrono::steady_clock::now() + patience, condition);
    }

private:
    template <class Lock>
    static Lock& held(std::unique_lock<Lock>& guard) {
        if (!guard.owns_lock()) detail::fail(EPERM);
        return *guard.mutex();
    }

    syncline_cond_t cond_{};
};

} // namespace syncline

#include "syncline/channels.hpp"

#endif // SYNCLINE_HPP
