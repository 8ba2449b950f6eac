//! What a function does to locks, judged by its name.
//!
//! Names are demangled. The functions of OpenMP, and those that don't return, are in lists. For all
//! other functions, the last part of the name says what they do: `std::mutex::unlock()`,
//! `cache_unlock`, `std::lock_guard<std::mutex>::~lock_guard()`, `absl::MutexLock::~MutexLock()`.

/// What a function does to locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The function acquires a lock.
    Acquire,
    /// The function releases a lock.
    Release,
    /// The function doesn't return.
    NoReturn,
    /// The function does none of these.
    Other,
}

/// OpenMP's functions that release a lock, whose names don't contain "unlock".
const RELEASES: [&str; 6] = [
    "GOMP_critical_end",
    "GOMP_critical_name_end",
    "GOMP_atomic_end",
    "omp_unset_lock",
    "omp_unset_nest_lock",
    "__kmpc_end_critical",
];
/// OpenMP's functions that acquire a lock.
const ACQUIRES: [&str; 6] = [
    "GOMP_critical_start",
    "GOMP_critical_name_start",
    "GOMP_atomic_start",
    "omp_set_lock",
    "omp_set_nest_lock",
    "__kmpc_critical",
];
/// Names of functions that don't return, or that raise an exception. An entry that ends with `_` or
/// `:` is the beginning of names.
const NO_RETURN: [&str; 17] = [
    "abort",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "pthread_exit",
    "longjmp",
    "siglongjmp",
    "__longjmp_chk",
    "__assert_fail",
    "__stack_chk_fail",
    "__cxa_throw",
    "__cxa_rethrow",
    "_Unwind_Resume",
    "std::terminate()",
    "std::__throw_",
    "core::panicking::",
];

/// Words before "lock" at the end of names of functions that don't acquire a lock.
const NOT_TAKEN: [&str; 9] =
    ["no", "no_", "without", "without_", "has_", "holds_", "needs_", "is_", "dead"];

/// What the function called `name` does to locks.
pub fn effect(name: &str) -> Effect {
    let whole = |start: &str| !start.ends_with(['_', ':']);
    if NO_RETURN.iter().any(|n| if whole(n) { name == *n } else { name.starts_with(n) }) {
        return Effect::NoReturn;
    }
    let (class, last) = last_parts(name);
    let lower = last.to_ascii_lowercase();
    // A function with "unlocked" in its name does not release a lock. It is called with the lock
    // held, or works without a lock.
    if RELEASES.contains(&name) || lower.contains("unlock") && !lower.contains("unlocked") {
        return Effect::Release;
    }
    if is_guard_end(name) {
        return Effect::Release;
    }
    let constructs_guard = last == class && names_a_guard(last);
    let takes = ends_with_lock(&lower) || lower == "lock_shared" || lower == "try_lock_shared";
    if ACQUIRES.contains(&name) || constructs_guard || takes && !last.starts_with('~') {
        return Effect::Acquire;
    }
    Effect::Other
}

/// Whether `name` is the destructor of a guard, an object that holds a lock as long as it lives.
pub fn is_guard_end(name: &str) -> bool {
    last_parts(name).1.strip_prefix('~').is_some_and(names_a_guard)
}

/// Whether `name` is the constructor of a guard.
pub fn is_guard_begin(name: &str) -> bool {
    let (class, last) = last_parts(name);
    last == class && names_a_guard(last)
}

/// Whether the function waits for a condition, and holds the lock when it returns.
pub fn waits_with_lock(name: &str) -> bool {
    let (class, last) = last_parts(name);
    let c = ["cond_wait", "cond_timedwait", "cond_clockwait", "cnd_wait", "cnd_timedwait"];
    c.iter().any(|function| last.ends_with(function))
        || class.starts_with("condition_variable") && last.starts_with("wait")
}

/// Whether the function waits for a semaphore.
pub fn waits_for_semaphore(name: &str) -> bool {
    ["sem_wait", "sem_timedwait", "sem_clockwait"].contains(&name)
}

/// Whether the function waits for an event, or causes one, by means of a condition, a semaphore, a
/// barrier or a thread.
pub fn hands_over(name: &str) -> bool {
    let (class, last) = last_parts(name);
    let starts = ["pthread_cond_", "cnd_", "sem_", "g_cond_", "uv_cond_", "uv_sem_"];
    let whole =
        ["pthread_barrier_wait", "pthread_create", "pthread_join", "thrd_create", "thrd_join"];
    starts.iter().any(|start| name.starts_with(start))
        || whole.contains(&name)
        || class.starts_with("condition_variable") && !last.starts_with('~')
}

/// Whether a function that does nothing but wait for a semaphore may call the function `name`.
pub fn belongs_to_waiting(name: &str) -> bool {
    waits_for_semaphore(name)
        || ["sem_trywait", "__errno_location"].contains(&name)
        || effect(name) == Effect::NoReturn
}

/// Whether a function belongs to a library for threads in C. Its first argument is the lock itself,
/// and it returns 0 when it succeeds.
pub fn is_of_thread_library(name: &str) -> bool {
    ["pthread_", "mtx_", "apr_", "uv_"].iter().any(|start| name.starts_with(start))
}

/// The value that a try (`tries`) or an acquisition returns when it succeeds; `None` if it is
/// unknown or there is none.
pub fn success(name: &str, tries: bool) -> Option<i64> {
    match (is_of_thread_library(name), tries) {
        (true, _) => Some(0),
        (false, true) => Some(1),
        (false, false) => None,
    }
}

/// Whether the name of a class says that it is a guard: it contains "lock" or "guard".
fn names_a_guard(class: &str) -> bool {
    let lower = class.to_ascii_lowercase();
    lower.contains("guard") || has_lock(&lower)
}

/// Whether the name contains a "lock" that is not part of "block", "clock" or "flock".
fn has_lock(lower: &str) -> bool {
    let is_lock = |at: usize| !lower[..at].ends_with(['b', 'c', 'f']);
    lower.match_indices("lock").any(|(at, _)| is_lock(at))
}

/// Whether the name ends with a "lock" that the function acquires. It does not in `find_nolock`,
/// whose caller has the lock, nor in `has_lock`, which only asks whether the lock is held.
fn ends_with_lock(lower: &str) -> bool {
    let not_taken = |rest: &str| {
        rest.ends_with(['b', 'c', 'f']) || NOT_TAKEN.iter().any(|word| rest.ends_with(word))
    };
    lower.strip_suffix("lock").is_some_and(|rest| !not_taken(rest))
}

/// The last two parts of a name, without arguments: `lock_guard` and `~lock_guard` of
/// `std::lock_guard<std::mutex>::~lock_guard()`.
fn last_parts(name: &str) -> (&str, &str) {
    let mut parts = [(0, 0); 2];
    let mut start = 0;
    let mut depth = 0;
    let mut end = name.len();
    let mut cut = None;
    for (at, c) in name.char_indices() {
        match c {
            '<' => {
                depth += 1;
                if depth == 1 {
                    cut.get_or_insert(at);
                }
            }
            '>' => depth -= 1,
            '(' if depth == 0 && at > start => {
                end = at;
                break;
            }
            ':' if depth == 0 && name[at..].starts_with("::") => {
                parts[0] = (start, cut.take().unwrap_or(at));
                start = at + 2;
            }
            ' ' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    parts[1] = (start.min(end), cut.unwrap_or(end).min(end));
    let part = |(from, to): (usize, usize)| name.get(from..to).unwrap_or_default();
    (part(parts[0]), part(parts[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_functions_do() {
        for release in [
            "pthread_mutex_unlock",
            "pthread_rwlock_unlock",
            "std::mutex::unlock()",
            "std::lock_guard<std::mutex>::~lock_guard()",
            "std::unique_lock<std::shared_mutex>::unlock()",
            "absl::MutexLock::~MutexLock()",
            "shop::Guard<shop::Lock<int>>::~Guard()",
            "item_unlock",
            "GOMP_critical_end",
        ] {
            assert_eq!(effect(release), Effect::Release, "{release}");
        }
        for acquire in [
            "pthread_mutex_lock",
            "pthread_rwlock_rdlock",
            "pthread_mutex_trylock",
            "std::mutex::try_lock()",
            "std::lock_guard<std::mutex>::lock_guard(std::mutex&)",
            "std::unique_lock<std::mutex>::unique_lock(std::mutex&)",
        ] {
            assert_eq!(effect(acquire), Effect::Acquire, "{acquire}");
        }
        for other in [
            "malloc",
            "next_block",
            "read_clock",
            "std::vector<std::mutex>::~vector()",
            "BlockList::~BlockList()",
            "count_locked",
            "fwrite_unlocked",
            "g_queue_push_unlocked",
            "shop::Table::FindUnlocked(int)",
            "shop::Table::FindNoLock(int)",
            "find_without_lock",
            "has_lock",
            "find_deadlock",
            "unblock(int)",
            "operator new(unsigned long)",
        ] {
            assert_eq!(effect(other), Effect::Other, "{other}");
        }
        assert_eq!(effect("std::__throw_system_error(int)"), Effect::NoReturn);
        assert_eq!(effect("abort"), Effect::NoReturn);
        assert_eq!(effect("abort_job"), Effect::Other);
    }

    #[test]
    fn event_functions_hand_over() {
        for name in [
            "pthread_cond_signal",
            "sem_post",
            "pthread_barrier_wait",
            "std::condition_variable::notify_one()",
            "std::_V2::condition_variable_any::wait()",
        ] {
            assert!(hands_over(name), "{name}");
        }
        for name in ["pthread_mutex_lock", "usleep", "sem", "poll", "notify_one"] {
            assert!(!hands_over(name), "{name}");
        }
    }

    #[test]
    fn the_last_parts_of_a_name() {
        assert_eq!(
            last_parts("std::lock_guard<a::b<c>>::~lock_guard()"),
            ("lock_guard", "~lock_guard")
        );
        assert_eq!(last_parts("void std::run<int>(int)"), ("std", "run"));
        assert_eq!(last_parts("malloc"), ("", "malloc"));
        assert_eq!(last_parts("(anonymous namespace)::push(int)").1, "push");
        assert_eq!(last_parts("").1, "");
    }
}
