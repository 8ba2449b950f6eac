//! What this processor has, as far as it matters to an engine that keeps all of its state.

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

/// Bytes that `xsave` may write, or if `compact` its compact form, which leaves out what is switched
/// off: all parts that are on, but for tiles.
///
/// Tiles are 8 KiB, and are not saved by code that does not use them: the loader, which saves state
/// in a section with a first call, leaves them out.
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
