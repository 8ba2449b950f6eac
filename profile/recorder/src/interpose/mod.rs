//! The functions that the library puts in front of the C library's, one file for each kind of
//! object.
//!
//! In each file except `futex`, `entry!` lists the exported functions, and the module `imp` has
//! what they do.

mod barrier;
mod c11;
mod children;
mod cond;
mod futex;
mod mutex;
mod openmp;
mod pause;
mod process;
mod rwlock;
mod semaphore;
mod spin;
mod thread;

use libc::{clockid_t, timespec};

/// Whether the C library would accept this deadline. If not, it may refuse even what it could grant
/// at once, so this library must not try first.
///
/// # Safety
/// `deadline` may be read.
unsafe fn acceptable(clock: clockid_t, deadline: *const timespec) -> bool {
    let known = clock == libc::CLOCK_REALTIME || clock == libc::CLOCK_MONOTONIC;
    // SAFETY: by this function's own condition.
    known && unsafe { (0..1_000_000_000).contains(&(*deadline).tv_nsec) }
}
