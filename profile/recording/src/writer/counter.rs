//! Changes counters of one thread to which its signal handlers may add at any moment.
//!
//! A single instruction adds to the counter. A handler runs either before or after it, so nothing
//! is lost. No other thread writes to the counter, so the instruction needs no lock prefix.

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

/// Adds one, and returns the previous value.
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
