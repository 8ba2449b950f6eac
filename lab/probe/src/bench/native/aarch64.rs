//! The clock, the fence and the eviction on AArch64: the virtual counter, `dsb` and `dc civac`.

use std::arch::asm;
use std::ptr;
use std::sync::atomic::AtomicU32;

/// With `isb`, the counter is not read before the preceding instructions are complete, or after the
/// following ones have begun. `dsb` comes first, and completes loads and stores (Arm ARM, D11.1.2
/// and B2.7).
#[inline(always)]
pub fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets programs read the counter.
    unsafe {
        asm!("dsb ish", "isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks,
            options(nostack, preserves_flags));
    }
    ticks
}

/// `dmb` would only order the stores, but `dsb` waits until they have taken effect.
#[inline(always)]
pub fn settle() {
    // SAFETY: this is only a barrier.
    unsafe { asm!("dsb ish", options(nostack, preserves_flags)) }
}

/// Writes the line back to memory and removes it from the caches. Linux lets programs do this.
#[inline(always)]
pub fn evict(word: &AtomicU32) {
    // SAFETY: it writes the line back to memory, and changes no value.
    unsafe {
        asm!("dc civac, {}", in(reg) ptr::from_ref(word), options(nostack, preserves_flags));
    }
}

/// A chain of additions of registers. Each addition needs the result of the one before, and takes a
/// cycle.
#[inline(always)]
pub fn work(cycles: u32) {
    // SAFETY: it adds two registers, and counts a third one down to zero or below.
    unsafe {
        asm!(
            "2:",
            "add {sum}, {sum}, {one}", "add {sum}, {sum}, {one}",
            "add {sum}, {sum}, {one}", "add {sum}, {sum}, {one}",
            "add {sum}, {sum}, {one}", "add {sum}, {sum}, {one}",
            "add {sum}, {sum}, {one}", "add {sum}, {sum}, {one}",
            "add {sum}, {sum}, {one}", "add {sum}, {sum}, {one}",
            "add {sum}, {sum}, {one}", "add {sum}, {sum}, {one}",
            "add {sum}, {sum}, {one}", "add {sum}, {sum}, {one}",
            "add {sum}, {sum}, {one}", "add {sum}, {sum}, {one}",
            "subs {left:w}, {left:w}, #16",
            "b.gt 2b",
            sum = inout(reg) 0_u64 => _,
            one = in(reg) 1_u64,
            left = inout(reg) cycles => _,
            options(nomem, nostack),
        );
    }
}

/// Returns `None`, since the architecture's counter always has a fixed rate.
pub fn clock_fault() -> Option<&'static str> {
    None
}
