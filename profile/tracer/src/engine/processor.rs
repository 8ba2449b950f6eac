//! The features of this processor that matter to an engine which saves all of its state.

use core::arch::x86_64::{__cpuid_count, _xgetbv};

/// x87, SSE, AVX and the three parts of AVX-512.
const KNOWN: u64 = 0b1110_0111;

/// The parts of the vector state that this system has enabled.
pub fn vector_mask() -> u64 {
    const OSXSAVE: u32 = 1 << 27;
    if __cpuid_count(1, 0).ecx & OSXSAVE == 0 {
        return 0;
    }
    xgetbv() & KNOWN
}

#[target_feature(enable = "xsave")]
fn read_control_register() -> u64 {
    // SAFETY: the caller has looked for OSXSAVE.
    unsafe { _xgetbv(0) }
}

fn xgetbv() -> u64 {
    // SAFETY: called only where OSXSAVE is set.
    unsafe { read_control_register() }
}

/// Whether this processor has `kmovq`.
pub fn has_avx512bw() -> bool {
    __cpuid_count(7, 0).ebx & 1 << 30 != 0
}

/// The most bytes that `xsave` writes, for all enabled parts except tiles. With `compact`, of its
/// compact form, which leaves out disabled parts.
///
/// Tiles are 8 KiB, and code that does not use them does not save them. The loader, which saves the
/// state at the first call of a function in a section, leaves them out too.
pub fn xsave_bytes(compact: bool) -> u32 {
    /// x87 and SSE, and the header.
    const FIRST: u32 = 576;
    const TILE_CONFIGURATION: u32 = 17;
    const ALIGNED: u32 = 1 << 1;
    let on = if vector_mask() == 0 { 0 } else { xgetbv() };
    let parts = (2..TILE_CONFIGURATION).filter(|part| on & 1 << part != 0);
    parts.fold(FIRST, |end, part| {
        let part = __cpuid_count(0xd, part);
        let (size, place) = (part.eax, part.ebx);
        match (compact, part.ecx & ALIGNED != 0) {
            (false, _) => end.max(place + size),
            (true, false) => end + size,
            (true, true) => end.next_multiple_of(64) + size,
        }
    })
}
