//! The generation of this process. It counts those forks on the way to this process in which the
//! forking process had several threads.
//!
//! In a forked child only the forking thread continues. A lock that it holds may have waiters that
//! no longer exist, and handing over to one of them would lose the lock. So the holder of a lock
//! notes the generation in the lock, and a release in a later generation makes the lock a fresh
//! one. If a process has one thread, no waiters are lost in a fork, and the child has the same
//! generation.
//!
//! Until that release the lock's queue belongs to threads that no longer exist. Threads of the
//! child that come to the lock meanwhile must not join the old queue: they poll until the lock is a
//! fresh one ([`is_past`]).

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Acquire, Ordering::Relaxed};

use syncline_interpose::{definition, preserving_errno};

/// The first generation. It is not 0, because 0 in a lock means that no thread holds the lock.
const FIRST: u32 = 1;
static NOW: AtomicU32 = AtomicU32::new(FIRST);
static HAD_THREADS: AtomicBool = AtomicBool::new(true);

/// This process's generation.
#[inline(always)]
pub fn now() -> u32 {
    // Relaxed, like all accesses here: the value changes only while the process has one thread.
    NOW.load(Relaxed)
}

/// Whether a lock has been held since before this process was forked. `noted` is the generation in
/// the lock.
#[inline(always)]
pub fn is_past(noted: &AtomicU32) -> bool {
    let now = now();
    now != FIRST && is_other(noted, now)
}

fn is_other(noted: &AtomicU32, now: u32) -> bool {
    // Acquire pairs with the Release of the thread that makes the lock a fresh one.
    let noted = noted.load(Acquire);
    noted != 0 && noted != now
}

/// A function that runs before or after a fork.
pub type Handler = Option<unsafe extern "C" fn()>;

/// The C library's own function.
pub mod real {
    use super::*;

    syncline_interpose::real! {
        fn __register_atfork(prepare: Handler, parent: Handler, child: Handler, library: *mut c_void) -> c_int;
    }
}

/// Registers the handlers that count forks.
pub fn prepare() {
    // SAFETY: the handlers can be called at any time, and this library is never unloaded.
    preserving_errno(|| unsafe {
        real::__register_atfork(Some(forks), None, Some(forked), null_mut())
    });
}

unsafe extern "C" fn forks() {
    HAD_THREADS.store(!is_single_threaded(), Relaxed);
}

unsafe extern "C" fn forked() {
    if HAD_THREADS.load(Relaxed) {
        NOW.fetch_add(1, Relaxed);
    }
}

/// Whether the process has only one thread, according to the C library; `false` if the C library
/// does not say.
fn is_single_threaded() -> bool {
    let variable = definition(c"__libc_single_threaded").cast::<c_char>();
    // SAFETY: the variable, if there is one, is a byte.
    unsafe { !variable.is_null() && variable.read() != 0 }
}
