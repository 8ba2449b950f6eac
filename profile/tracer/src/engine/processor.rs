//! The processor's features that the engine must know, to save all registers and to note what
//! instructions access.

use core::arch::x86_64::{__cpuid_count, _xgetbv};

/// The state components of x87, SSE, AVX, and the three of AVX-512. Others, such as tiles and
/// protection keys, are not saved: neither this library nor the C library's functions that it calls
/// change them.
const KNOWN: u64 = 0b1110_0111;

/// The components of [`KNOWN`] that the operating system has enabled, a bit each; 0 if it has not
/// enabled `xsave`.
pub fn vector_mask() -> u64 {
    const OSXSAVE: u32 = 1 << 27;
    if __cpuid_count(1, 0).ecx & OSXSAVE == 0 {
        return 0;
    }
    xgetbv() & KNOWN
}

#[target_feature(enable = "xsave")]
fn read_control_register() -> u64 {
    // SAFETY: the caller has checked that the bit `OSXSAVE` of `cpuid` is set, so the instruction
    // exists.
    unsafe { _xgetbv(0) }
}

fn xgetbv() -> u64 {
    // SAFETY: called only if `OSXSAVE` is set.
    unsafe { read_control_register() }
}

/// Whether this processor has AVX-512BW, and with it `kmovq`, which copies a mask register.
pub fn has_avx512bw() -> bool {
    __cpuid_count(7, 0).ebx & 1 << 30 != 0
}

/// The most bytes that `xsave` writes for all enabled components except tiles; with `compact`, in
/// the compact form, which leaves out disabled components.
///
/// Tiles (of the extension AMX) have 8 KiB. Code that does not use them does not save them, nor
/// does the loader, which saves the state when a function is called for the first time.
pub fn xsave_bytes(compact: bool) -> u32 {
    /// The bytes of the state of x87 and SSE, together with the header.
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
