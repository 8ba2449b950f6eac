//! AArch64: the virtual counter, `dsb`, `dc civac`.

use std::arch::asm;
use std::ptr;
use std::sync::atomic::AtomicU32;

/// `isb` keeps the counter from being read before the instructions ahead of it are done or after
/// those behind it have begun; `dsb` completes loads and stores first (Arm ARM, D11.1.2 and B2.7).
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

/// `dmb` would only order the stores; `dsb` waits until they have taken effect.
#[inline(always)]
pub fn settle() {
    // SAFETY: a barrier.
    unsafe { asm!("dsb ish", options(nostack, preserves_flags)) }
}

/// Cleans and invalidates the line, to memory. Linux lets programs do so.
#[inline(always)]
pub fn evict(word: &AtomicU32) {
    // SAFETY: it writes the line back to memory, and changes no value.
    unsafe {
        asm!("dc civac, {}", in(reg) ptr::from_ref(word), options(nostack, preserves_flags));
    }
}

/// Dependent additions of registers, which take a cycle each.
#[inline(always)]
pub fn work(cycles: u32) {
    // SAFETY: it adds up two registers, and counts a third one down to zero or below.
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

/// None: the architecture's counter has a fixed rate.
pub fn clock_fault() -> Option<&'static str> {
    None
}
