//! Markers with which this process talks to the plugin: instructions that have no effect and
//! contain a number.
//!
//! `nop dword ptr [rax + NUMBER]` takes seven bytes and changes nothing. The plugin recognizes its
//! bytes when the instruction is translated, so a marker needs no device and no driver.

use std::arch::asm;

/// Marks the beginning of recording.
pub fn start() {
    // SAFETY: the instruction does nothing.
    unsafe {
        asm!(".byte 0x0f, 0x1f, 0x80", ".long 0x53594e01", options(nostack, preserves_flags))
    };
}

/// Marks the end of recording.
pub fn stop() {
    // SAFETY: the instruction does nothing.
    unsafe {
        asm!(".byte 0x0f, 0x1f, 0x80", ".long 0x53594e02", options(nostack, preserves_flags))
    };
}

const PAGE: usize = 4096;

/// A page in the layout that the plugin copies.
#[repr(C, align(4096))]
#[derive(Clone, Copy)]
struct Page([u8; PAGE]);

/// Hands bytes to the plugin, which writes them to a file with this name.
///
/// The first page says how many bytes follow, and the name. For each page, the instruction after a
/// marker reads one byte: the plugin sees the address, and copies the page from the guest's memory.
pub fn export(name: &str, bytes: &[u8]) {
    let mut pages = vec![Page([0; PAGE]); 1 + bytes.len().div_ceil(PAGE)];
    let head = &mut pages[0].0;
    head[..8].copy_from_slice(b"SYNCLINE");
    head[8..16].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    head[16..16 + name.len()].copy_from_slice(name.as_bytes());
    for (page, part) in pages[1..].iter_mut().zip(bytes.chunks(PAGE)) {
        page.0[..part.len()].copy_from_slice(part);
    }
    pages.iter().for_each(hand_over);
}

fn hand_over(page: &Page) {
    // SAFETY: one byte of the page is read.
    unsafe {
        asm!(
            ".byte 0x0f, 0x1f, 0x80",
            ".long 0x53594e03",
            "mov {0}, byte ptr [{1}]",
            out(reg_byte) _,
            in(reg) page,
            options(nostack, preserves_flags, readonly),
        );
    }
}
