//! x86-64: `rdtsc`, `mfence`, `clflush`.

use std::arch::asm;
use std::arch::x86_64::{_mm_clflush, _mm_lfence, _mm_mfence, _rdtsc};
use std::ptr;
use std::sync::atomic::AtomicU32;

use raw_cpuid::CpuId;

/// `lfence` waits for all instructions before it, hence for loads but not for stores, and lets none
/// after it begin (Intel's manual, RDTSC; Linux configures AMD's processors to do the same).
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has these instructions.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// `mfence` waits until all stores and flushes before it have taken effect.
#[inline(always)]
pub fn settle() {
    // SAFETY: every x86-64 processor has this instruction.
    unsafe { _mm_mfence() }
}

#[inline(always)]
pub fn evict(word: &AtomicU32) {
    // SAFETY: every x86-64 processor has this instruction; it writes the line back to memory, and
    // changes no value.
    unsafe { _mm_clflush(ptr::from_ref(word).cast()) }
}

/// `lock bts`, which sets a bit and returns its former value.
#[inline(always)]
pub fn test_and_set(word: &AtomicU32) -> u32 {
    let was: u32;
    // SAFETY: it changes an atomic word atomically, and two registers.
    unsafe {
        asm!(
            "lock bts dword ptr [{word}], 0",
            "sbb {was:e}, {was:e}",
            word = in(reg) word.as_ptr(),
            was = out(reg) was,
            options(nostack),
        );
    }
    was & 1
}

/// Dependent additions of registers, which take a cycle each on every processor; additions of
/// constants may take none.
#[inline(always)]
pub fn work(cycles: u32) {
    // SAFETY: it adds up two registers, and counts a third one down to zero or below.
    unsafe {
        asm!(
            "2:",
            "add {sum}, {one}", "add {sum}, {one}", "add {sum}, {one}", "add {sum}, {one}",
            "add {sum}, {one}", "add {sum}, {one}", "add {sum}, {one}", "add {sum}, {one}",
            "add {sum}, {one}", "add {sum}, {one}", "add {sum}, {one}", "add {sum}, {one}",
            "add {sum}, {one}", "add {sum}, {one}", "add {sum}, {one}", "add {sum}, {one}",
            "sub {left:e}, 16",
            "jg 2b",
            sum = inout(reg) 0_u64 => _,
            one = in(reg) 1_u64,
            left = inout(reg) cycles => _,
            options(nomem, nostack),
        );
    }
}

/// A fault unless the counter is invariant: without that, ticks are not always equally long. `None`
/// if it is.
pub fn clock_fault() -> Option<&'static str> {
    let invariant = CpuId::new().get_advanced_power_mgmt_info().map(|i| i.has_invariant_tsc());
    (invariant != Some(true))
        .then_some("the processor does not say that its time-stamp counter is invariant")
}
