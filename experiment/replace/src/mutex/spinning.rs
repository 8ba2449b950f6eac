//! The C library's own mutexes, but a thread that finds one held spins for a while before it
//! sleeps. A sleep and a wake-up cost a few microseconds; if sections are shorter, spinning is
//! cheaper.
//!
//! Source: A. Karlin, K. Li, M. Manasse and S. Owicki, "Empirical Studies of Competitive Spinning
//! for a Shared-Memory Multiprocessor" (SOSP 1991): a thread that spins for as long as a sleep
//! costs, and then sleeps, takes at most twice the time of the best choice.

use core::ffi::c_int;

use libc::EBUSY;
use syncline::memory::Memory;

use super::{Kind, Mutex, Ops, real};
use crate::memory::Own;

/// The number of tries before a thread sleeps. With a pause after each, they take about 5 to 10
/// microseconds, about as long as a sleep and a wake-up.
const LOOKS: u32 = 200;

impl Ops {
    /// The operations of the C library, with spinning before a sleep.
    pub const SPINNING: Ops = Ops { lock, ..Ops::LEFT };
}

/// # Safety
///
/// The program's own call.
unsafe fn lock(mutex: *const Mutex) -> c_int {
    // SAFETY: our caller's promise. Robust and similar mutexes are not tried first: the kernel
    // takes part in these, and a try of one is not the beginning of a wait.
    let looks = if unsafe { (*mutex).kind() } == Kind::Left { 0 } else { LOOKS };
    for _ in 0..looks {
        // SAFETY: our caller's promise. An owner that may not acquire it again gets its error
        // below.
        match unsafe { real::pthread_mutex_trylock(mutex) } {
            EBUSY => Own::pause(1),
            result => return result,
        }
    }
    // SAFETY: our caller's promise.
    unsafe { real::pthread_mutex_lock(mutex) }
}
