//! Chooses the frame to show for a stack.
//!
//! The code that a user writes seldom calls `pthread_mutex_lock` itself: `std::lock_guard` does, or
//! `g_mutex_lock`, or Rust's standard library, or a function of the program that acquires the lock
//! for its caller. The line that the user can change is in an outer frame. So the frame to show is
//! *the innermost one that is not in a library which is known to wrap locks, and did not acquire
//! the lock on behalf of its caller*. If there is none, it is the outermost of the program's own
//! functions that acquired the lock on behalf of their callers, or else the innermost frame.
//!
//! The program's instructions show whether a function acquired a lock on behalf of its caller
//! (`section::held`). The instructions of libraries often can't be read, so the lists below name
//! libraries by their source files, their functions, and their shared files.

use std::borrow::Cow;

use crate::model::{Frame, Module};

/// Parts of the paths of libraries' source files.
const FILES: [&str; 9] = [
    "/include/c++/",
    "/libstdc++-v3/",
    "/rustc/",
    "/rustlib/src/rust/",
    "/parking_lot-",
    "/parking_lot_core-",
    "/lock_api-",
    "/absl/synchronization/",
    "/boost/thread/",
];

/// Prefixes of the names of libraries' functions.
const FUNCTIONS: [&str; 41] = [
    "std::",
    "core::",
    "alloc::",
    "parking_lot::",
    "parking_lot_core::",
    "lock_api::",
    "__gnu_cxx::",
    "__gthread_",
    "boost::mutex",
    "boost::unique_lock",
    "boost::lock_guard",
    "boost::condition_variable",
    "absl::Mutex",
    "absl::CondVar",
    "absl::synchronization_internal::",
    "absl::base_internal::SpinLock",
    "AbslInternal",
    "pthread_",
    "mtx_",
    "cnd_",
    "sem_",
    "g_mutex_",
    "g_rec_mutex_",
    "g_rw_lock_",
    "g_cond_",
    "apr_thread_",
    "uv_mutex_",
    "uv_rwlock_",
    "uv_cond_",
    "QMutex::",
    "QBasicMutex::",
    "QSemaphore::",
    "QWaitCondition::",
    "QReadWriteLock::",
    "PyThread_acquire_lock",
    "PyThread_release_lock",
    "PGSemaphoreLock",
    "rb_native_",
    "GOMP_",
    "__kmpc_",
    // `_start` calls `main`. A `main` that never releases its lock does not acquire it on behalf of
    // `_start`.
    "_start+",
];

/// Prefixes of names that contain a library's version.
const VERSIONS: [&str; 2] = ["absl::lts_", "absl::debian"];

/// Prefixes of the names of library functions that count as the user's: the user's function that
/// `std::thread` runs is inlined into such a function.
const USERS: [&str; 1] = ["std::thread::_State_impl"];

/// The beginning of the C library's file name.
pub const LIBC: &str = "libc.so";
/// The beginning of the recorder's file name.
pub const RECORDER: &str = "libsyncline_recorder.so";

/// Prefixes of the file names of shared libraries that wrap locks.
pub const LIBRARIES: [&str; 7] =
    [LIBC, "libpthread.so", "libstdc++.so", "libc++.so", "libgomp.so", "libomp.so", RECORDER];

/// The index of the frame to show; `None` if there is no frame. Each frame comes with a flag,
/// whether it acquired the lock on behalf of its caller.
pub fn users_own<'a>(
    frames: impl Iterator<Item = (&'a Frame, bool)>,
    modules: &[Module],
) -> Option<usize> {
    let mut last_resort = None;
    for (position, (frame, took_for_caller)) in frames.enumerate() {
        if wraps_locks(frame, modules) {
            last_resort.get_or_insert(position);
        } else if took_for_caller {
            last_resort = Some(position);
        } else {
            return Some(position);
        }
    }
    last_resort
}

/// The index of the Python function to show for a stack: the innermost one that is not in Python's
/// standard library, or else the innermost one. `None` if there is none.
pub fn pythons_own<'a>(frames: impl Iterator<Item = &'a Frame>) -> Option<usize> {
    let mut any = None;
    for (position, frame) in frames.enumerate() {
        let file = frame.file.as_deref().unwrap_or_default();
        // Installed packages lie in a folder inside.
        let is_pythons = file.contains("/lib/python3") && !file.contains("-packages/");
        if !is_pythons && !file.starts_with("<frozen ") {
            return Some(position);
        }
        any.get_or_insert(position);
    }
    any
}

/// Whether a function belongs to a library that is known to wrap locks.
pub fn wraps_locks(frame: &Frame, modules: &[Module]) -> bool {
    let file = frame.file.as_deref().unwrap_or_default();
    is_in_wrapper(&frame.function)
        || !is_users(&frame.function)
            && (FILES.iter().any(|part| file.contains(part))
                || frame.module.is_some_and(|m| is_wrapper(&modules[m])))
}

/// Whether a function's name shows that it belongs to a library that is known to wrap locks.
pub fn is_in_wrapper(function: &str) -> bool {
    begins_with_one_of(&FUNCTIONS, function) && !is_users(function)
}

/// Whether a library's function counts as the user's.
fn is_users(function: &str) -> bool {
    begins_with_one_of(&USERS, function)
}

fn begins_with_one_of(prefixes: &[&str], function: &str) -> bool {
    let name = without_version(own_name(function));
    prefixes.iter().any(|start| name.starts_with(start))
}

/// Whether a library is known to wrap locks.
pub fn is_wrapper(library: &Module) -> bool {
    LIBRARIES.iter().any(|start| library.name().starts_with(start))
}

/// A function's name without a namespace that is a version: `absl::Mutex::Lock` for
/// `absl::lts_20230125::Mutex::Lock`.
fn without_version(name: &str) -> Cow<'_, str> {
    let Some(start) = VERSIONS.iter().find(|start| name.starts_with(*start)) else {
        return Cow::Borrowed(name);
    };
    match (name.split_once("::"), name[start.len()..].split_once("::")) {
        (Some((library, _)), Some((_, rest))) => Cow::Owned(format!("{library}::{rest}")),
        _ => Cow::Borrowed(name),
    }
}

/// A function's name from its first namespace on: without the return type, which names of C++
/// templates include, and without the `<` before the type in a Rust name. Everything from the next
/// `<` or `(` on is cut off too. `void std::run<int>(int)` becomes `std::run`, and
/// `<std::Once as ...>::call` becomes `std::Once as ...>::call`.
fn own_name(function: &str) -> &str {
    let function = function.strip_prefix('<').unwrap_or(function);
    let end = function.find(['<', '(']).unwrap_or(function.len());
    let is_rust_impl = function[..end].contains(" as ");
    match function[..end].rfind(' ') {
        Some(space) if !is_rust_impl => &function[space + 1..end],
        _ => &function[..end],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(stack: &[(&str, &str)]) -> Option<usize> {
        let frame = |&(function, file): &(&str, &str)| Frame {
            function: function.to_owned(),
            whole: None,
            file: (!file.is_empty()).then(|| file.to_owned()),
            line: None,
            module: None,
        };
        let frames: Vec<Frame> = stack.iter().map(frame).collect();
        users_own(frames.iter().map(|frame| (frame, false)), &[])
    }

    #[test]
    fn wrappers_of_cpp_rust_and_c_are_passed_over() {
        let cpp = [
            ("__gthread_mutex_lock(pthread_mutex_t*)", "/usr/include/x86_64/c++/12/gthr.h"),
            ("std::mutex::lock()", "/usr/include/c++/12/bits/std_mutex.h"),
            ("Queue<int>::push(int)", "/src/queue.h"),
            ("main", "/src/main.cpp"),
        ];
        assert_eq!(shown(&cpp), Some(2));
        let rust = [
            ("<std::sync::once::Once as Waits>::wait", ""),
            ("parking_lot::raw_mutex::RawMutex::lock_slow", "/x/parking_lot-0.12.1/src/a.rs"),
            ("pool::worker::{{closure}}", "/src/pool.rs"),
        ];
        assert_eq!(shown(&rust), Some(2));
        assert_eq!(shown(&[("g_mutex_lock+0x12", ""), ("on_idle", "")]), Some(1));
        let inlined =
            "std::thread::_State_impl<std::thread::_Invoker<Pool::start()::run> >::_M_run()";
        assert_eq!(shown(&[("std::condition_variable::wait(lock&)", ""), (inlined, "")]), Some(1));
    }

    #[test]
    fn a_return_type_is_no_part_of_the_name() {
        assert_eq!(own_name("void std::run<int>(int)"), "std::run");
        assert_eq!(own_name("Table<std::string>::find(std::string)"), "Table");
        assert_eq!(own_name("(anonymous namespace)::push(int)"), "");
        assert_eq!(shown(&[("(anonymous namespace)::push(int)", "")]), Some(0));
    }

    #[test]
    fn a_python_function_is_the_users_unless_its_file_is_pythons() {
        let own = |files: &[&str]| {
            let frame = |file: &&str| Frame {
                function: "sem_wait".to_owned(),
                whole: None,
                file: Some((*file).to_owned()),
                line: None,
                module: None,
            };
            let frames: Vec<Frame> = files.iter().map(frame).collect();
            pythons_own(frames.iter())
        };
        let (threading, queue) =
            ("/usr/lib/python3.11/threading.py", "/usr/lib/python3.11/queue.py");
        assert_eq!(own(&[threading, queue, "/srv/fetch.py", "/srv/main.py"]), Some(2));
        let package = "/usr/lib/python3/dist-packages/limiter/limiter.py";
        assert_eq!(own(&[threading, package, "/srv/main.py"]), Some(1));
        assert_eq!(own(&["<frozen importlib._bootstrap>", "<string>"]), Some(1));
        assert_eq!(own(&[threading, queue]), Some(0));
        assert_eq!(own(&[]), None);
    }

    #[test]
    fn a_stack_of_wrappers_only_shows_the_innermost() {
        assert_eq!(shown(&[("std::mutex::lock()", ""), ("std::thread::run()", "")]), Some(0));
        assert_eq!(shown(&[]), None);
    }
}
