//! The C library's own mutexes, but a thread that finds one taken spins for a while before it
//! sleeps. A sleep and a wake-up cost some microseconds; where sections are shorter, spinning is
//! cheaper.
//!
//! Source: A. Karlin, K. Li, M. Manasse and S. Owicki, "Empirical Studies of Competitive Spinning
//! for a Shared-Memory Multiprocessor" (SOSP 1991): to spin for as long as a sleep costs takes at
//! most twice as long as the best choice would.

use core::ffi::c_int;

use libc::EBUSY;
use syncline::memory::Memory;

use super::{Kind, Mutex, Ops, real};
use crate::memory::Own;

/// With a pause after each some 5 to 10 microseconds, which is what a sleep and a wake-up cost.
const LOOKS: u32 = 200;

impl Ops {
    /// The C library's, with spinning first.
    pub const SPINNING: Ops = Ops { lock, ..Ops::LEFT };
}

/// # Safety
///
/// The program's own call.
unsafe fn lock(mutex: *const Mutex) -> c_int {
    // SAFETY: our caller's promise. The kernel takes part in robust and similar mutexes, whose try
    // is not the beginning of a wait.
    let looks = if unsafe { (*mutex).kind() } == Kind::Left { 0 } else { LOOKS };
    for _ in 0..looks {
        // SAFETY: our caller's promise. An owner that may not have it again gets its error below.
        match unsafe { real::pthread_mutex_trylock(mutex) } {
            EBUSY => Own::pause(1),
            result => return result,
        }
    }
    // SAFETY: our caller's promise.
    unsafe { real::pthread_mutex_lock(mutex) }
}
