//! Which process this is, counted by forks.
//!
//! In a forked child only the forking thread continues. A lock that it holds may have waiters that
//! no longer exist, and handing over to one of them would lose the lock. So the holder of a lock
//! notes the generation, and a release in a later one makes the lock a fresh one. A process with
//! one thread leaves no such waiters behind, and its child has the same generation.
//!
//! Until that release the lock's queue belongs to threads that no longer exist. Threads of the
//! child that arrive meanwhile must not join the old queue: they poll until the lock is a fresh one
//! ([`is_past`]).

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Acquire, Ordering::Relaxed};

use syncline_interpose::{definition, preserving_errno};

/// Not 0, which means that no thread holds the lock.
const FIRST: u32 = 1;
static NOW: AtomicU32 = AtomicU32::new(FIRST);
static HAD_THREADS: AtomicBool = AtomicBool::new(true);

/// This process's generation.
#[inline(always)]
pub fn now() -> u32 {
    // Relaxed, as all here: it changes only where there is one thread.
    NOW.load(Relaxed)
}

/// Whether a lock whose holder noted this was acquired before this process was forked, and is held.
#[inline(always)]
pub fn is_past(noted: &AtomicU32) -> bool {
    let now = now();
    now != FIRST && is_other(noted, now)
}

fn is_other(noted: &AtomicU32, now: u32) -> bool {
    // Acquire: pairs with the Release of the thread that makes the lock a fresh one.
    let noted = noted.load(Acquire);
    noted != 0 && noted != now
}

/// A function that runs before or after a fork.
pub type Handler = Option<unsafe extern "C" fn()>;

/// The C library's own.
pub mod real {
    use super::*;

    syncline_interpose::real! {
        fn __register_atfork(prepare: Handler, parent: Handler, child: Handler, library: *mut c_void) -> c_int;
    }
}

/// Makes forks counted.
pub fn prepare() {
    // SAFETY: the functions can be called at any time, and this library stays.
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

/// Whether the process has never had a second thread, as far as the C library says.
fn is_single_threaded() -> bool {
    let variable = definition(c"__libc_single_threaded").cast::<c_char>();
    // SAFETY: the variable, if there is one, is a byte.
    unsafe { !variable.is_null() && variable.read() != 0 }
}
