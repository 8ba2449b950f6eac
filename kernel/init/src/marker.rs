//! What this process tells the plugin: instructions that do nothing, with a number in them.
//!
//! `nop dword ptr [rax + NUMBER]` takes seven bytes and changes nothing. The plugin knows it by its
//! bytes when the instruction is translated, so a marker needs no device and no driver.

use std::arch::asm;

/// Recording begins.
pub fn start() {
    // SAFETY: the instruction does nothing.
    unsafe {
        asm!(".byte 0x0f, 0x1f, 0x80", ".long 0x53594e01", options(nostack, preserves_flags))
    };
}

/// Recording ends.
pub fn stop() {
    // SAFETY: the instruction does nothing.
    unsafe {
        asm!(".byte 0x0f, 0x1f, 0x80", ".long 0x53594e02", options(nostack, preserves_flags))
    };
}

const PAGE: usize = 4096;

/// A page as the plugin copies it.
#[repr(C, align(4096))]
#[derive(Clone, Copy)]
struct Page([u8; PAGE]);

/// Hands bytes to the plugin, which writes them to a file of this name.
///
/// The first page says how many bytes follow, and the name. Each page is read once by an instruction
/// that stands behind a marker: the plugin sees the address, and copies the page out of the guest's
/// memory.
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
