//! The clock, the fence and the eviction on x86-64: `rdtsc`, `mfence` and `clflush`.

use std::arch::asm;
use std::arch::x86_64::{_mm_clflush, _mm_lfence, _mm_mfence, _rdtsc};
use std::ptr;
use std::sync::atomic::AtomicU32;

use raw_cpuid::CpuId;

/// `lfence` waits until all preceding instructions are complete, and lets no following instruction
/// begin before. So it also waits for loads, but not until stores have taken effect. (Intel's
/// manual, RDTSC; Linux configures AMD's processors to do so too.)
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

/// `mfence` waits until all preceding stores and flushes have taken effect.
#[inline(always)]
pub fn settle() {
    // SAFETY: every x86-64 processor has this instruction.
    unsafe { _mm_mfence() }
}

#[inline(always)]
pub fn evict(word: &AtomicU32) {
    // SAFETY: every x86-64 processor has this instruction. It writes the line back to memory, and
    // changes no value.
    unsafe { _mm_clflush(ptr::from_ref(word).cast()) }
}

/// Uses `lock bts`, which sets a bit and returns the bit's previous value.
#[inline(always)]
pub fn test_and_set(word: &AtomicU32) -> u32 {
    let was: u32;
    // SAFETY: it changes a word atomically, and two registers.
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

/// A chain of additions of registers. Each addition needs the result of the one before, and takes a
/// cycle on every processor, whereas additions of constants may take none.
#[inline(always)]
pub fn work(cycles: u32) {
    // SAFETY: it adds two registers, and counts a third one down to zero or below.
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

/// The fault of the time-stamp counter, in words: unless the counter is invariant, its ticks are
/// not always equally long. `None` if it is invariant.
pub fn clock_fault() -> Option<&'static str> {
    let invariant = CpuId::new().get_advanced_power_mgmt_info().map(|i| i.has_invariant_tsc());
    (invariant != Some(true))
        .then_some("the processor does not say that its time-stamp counter is invariant")
}
