//! The library's own memory, so that it never enters the program's allocator.
//!
//! The library allocates when it learns of a new module, and rarely otherwise: a few hundred
//! kilobytes over a recording. So nothing is freed until a recording is forgotten. An allocation is
//! one atomic addition, which is safe in a signal handler and after a fork at any point.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Address space that is set aside; only the used part takes memory.
const RESERVE: usize = 16 << 20;

/// Whether this many bytes can still be allocated. If not, the caller has to do without: a failed
/// allocation would end the program.
pub fn has_room(bytes: usize) -> bool {
    !ARENA.base().is_null() && ARENA.used.load(Ordering::Relaxed) + bytes < RESERVE
}

struct Arena {
    base: AtomicPtr<u8>,
    used: AtomicUsize,
}

#[global_allocator]
static ARENA: Arena = Arena { base: AtomicPtr::new(null_mut()), used: AtomicUsize::new(0) };

impl Arena {
    fn base(&self) -> *mut u8 {
        let base = self.base.load(Ordering::Acquire);
        if !base.is_null() {
            return base;
        }
        let Some(fresh) = map_anonymous(RESERVE) else { return null_mut() };
        match self.base.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh,
            Err(theirs) => {
                // SAFETY: no other thread has seen this mapping.
                let _ = unsafe { munmap(fresh.cast(), RESERVE) };
                theirs
            }
        }
    }
}

/// Frees everything that was allocated, and returns the memory to the kernel.
///
/// # Safety
/// None of the allocated memory is used any more.
pub unsafe fn free_all() {
    let base = ARENA.base.load(Ordering::Acquire);
    if !base.is_null() {
        // SAFETY: our own mapping, and by this function's own condition nothing in it is used any
        // more.
        let _ = unsafe { madvise(base.cast(), RESERVE, Advice::LinuxDontNeed) };
        ARENA.used.store(0, Ordering::Release);
    }
}

/// Maps zeroed private memory; only the pages that are touched take memory.
pub fn map_anonymous(bytes: usize) -> Option<*mut u8> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
    let mapped =
        unsafe { mmap_anonymous(null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags) };
    mapped.ok().map(|p| p.cast())
}

// SAFETY: each call hands out its own part of the mapping, and none is used twice.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let base = self.base();
        let room = layout.size() + layout.align();
        let start = self.used.fetch_add(room, Ordering::Relaxed);
        if base.is_null() || start + room > RESERVE {
            return null_mut();
        }
        base.wrapping_add(start.next_multiple_of(layout.align()))
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}
