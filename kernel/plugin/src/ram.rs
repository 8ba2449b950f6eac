//! The guest's memory in this process: the file behind `memory-backend-memfd`, mapped a second time
//! for reading.
//!
//! The plugin interface gives neither registers nor values. With a memory back end that can be
//! shared, QEMU has a file descriptor of the memory, which is found by its name among the process's
//! descriptors.

use std::fs;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// The name of QEMU's file in the kernel.
const NAME: &str = "memory-backend-memfd";

/// The mapping, which exists for the life of the process.
pub struct Ram {
    base: *const u8,
    size: u64,
}

// SAFETY: the mapping is only read, by atomic loads, and is never unmapped.
unsafe impl Send for Ram {}
// SAFETY: as above.
unsafe impl Sync for Ram {}

static RAM: OnceLock<Option<Ram>> = OnceLock::new();

/// The guest's memory; `None` if QEMU runs without such a back end, or if the file can't be mapped.
pub fn ram() -> Option<&'static Ram> {
    RAM.get_or_init(find).as_ref()
}

fn find() -> Option<Ram> {
    for entry in fs::read_dir("/proc/self/fd").ok()?.flatten() {
        let is_it = |to: std::path::PathBuf| to.to_string_lossy().contains(NAME);
        if !fs::read_link(entry.path()).is_ok_and(is_it) {
            continue;
        }
        let file = fs::File::open(entry.path()).ok()?;
        let size = file.metadata().ok()?.len();
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe {
            let (kind, how) = (libc::PROT_READ, libc::MAP_SHARED);
            libc::mmap(ptr::null_mut(), size as usize, kind, how, file.as_raw_fd(), 0)
        };
        return (base != libc::MAP_FAILED).then_some(Ram { base: base.cast(), size });
    }
    None
}

impl Ram {
    /// Copies bytes from a physical address; returns false if there is no memory.
    pub fn copy(&self, from: u64, to: &mut [u8]) -> bool {
        if from.checked_add(to.len() as u64).is_none_or(|end| end > self.size) {
            return false;
        }
        for (at, byte) in to.iter_mut().enumerate() {
            // SAFETY: inside the mapping. The guest may write to it meanwhile. Each byte is read
            // atomically, and no caller relies on a consistent value.
            *byte = unsafe { AtomicU8::from_ptr(self.base.add(from as usize + at).cast_mut()) }
                .load(Ordering::Relaxed);
        }
        true
    }

    /// Reads eight bytes at a physical address that is a multiple of 8; `None` if there is no
    /// memory.
    pub fn u64(&self, at: u64) -> Option<u64> {
        if at >= self.size || !at.is_multiple_of(8) {
            return None;
        }
        // SAFETY: inside the mapping and aligned; only read, atomically.
        Some(
            unsafe { AtomicU64::from_ptr(self.base.add(at as usize).cast_mut().cast()) }
                .load(Ordering::Relaxed),
        )
    }

    /// Reads four bytes at a physical address that is a multiple of 4.
    pub fn u32(&self, at: u64) -> Option<u32> {
        if at >= self.size || !at.is_multiple_of(4) {
            return None;
        }
        // SAFETY: as above.
        Some(
            unsafe { AtomicU32::from_ptr(self.base.add(at as usize).cast_mut().cast()) }
                .load(Ordering::Relaxed),
        )
    }
}
