//! Counters of one thread, which its signal handlers count in as well.
//!
//! A single instruction adds to the word, so a handler that adds to the same word before or after
//! it loses nothing. No other thread writes to the word, so the instruction needs no lock prefix.

/// Adds one.
///
/// # Safety
/// The counter is this thread's own.
#[inline(always)]
pub unsafe fn add_one(counter: *mut u64) {
    // SAFETY: by this function's own condition.
    unsafe {
        core::arch::asm!("inc qword ptr [{0}]", in(reg) counter, options(nostack));
    }
}

/// Like [`add_one`], but adds any number.
///
/// # Safety
/// Same requirement as [`add_one`].
#[inline]
pub unsafe fn add(counter: *mut u64, number: u64) {
    // SAFETY: by this function's own condition.
    unsafe {
        core::arch::asm!("add qword ptr [{0}], {1}", in(reg) counter, in(reg) number, options(nostack));
    }
}

/// Adds one, and returns the value before.
///
/// # Safety
/// Same requirement as [`add_one`].
#[inline(always)]
pub(super) unsafe fn claim(counter: *mut u64) -> u64 {
    let mut one = 1u64;
    // SAFETY: by this function's own condition.
    unsafe {
        core::arch::asm!("xadd qword ptr [{0}], {1}", in(reg) counter, inout(reg) one, options(nostack));
    }
    one
}
