//! The library's own allocator. The library must never enter the program's.
//!
//! Block sizes are powers of two. Blocks are cut from chunks that are mapped and never unmapped; a
//! free block is kept in the [`List`] of its size.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU64, Ordering};

/// The smallest block: 2^4 bytes.
const SMALLEST: u32 = 4;
/// The largest block that is kept in a list: 2^20 bytes. Larger blocks are mapped and unmapped one
/// by one.
const LARGEST: u32 = 20;
const CLASSES: usize = (LARGEST - SMALLEST + 1) as usize;
/// The size of a chunk in bytes.
const CHUNK: u64 = 4 << 20;
/// The number of bits of a user-space address.
const ADDRESS_BITS: u32 = 48;
const ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;

/// A stack of free blocks of one size (Treiber's). It is lock-free, so a signal handler or a forked
/// child finds it intact even if an operation was interrupted. The high bits of the head count
/// removals. So a compare-and-swap fails if its block was taken and given back meanwhile.
pub struct List(AtomicU64);

struct Arena {
    free: [List; CLASSES],
    /// The next free byte of the newest chunk; a chunk is aligned to its size.
    next: AtomicU64,
}

#[global_allocator]
static ARENA: Arena = Arena { free: [const { List::new() }; CLASSES], next: AtomicU64::new(0) };

/// Maps zeroed private memory at a multiple of `align`, a power of two. Only pages that are touched
/// take memory. Returns null if the mapping fails.
pub fn map(bytes: usize, align: usize) -> *mut u8 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory, and
    // the parts that are unmapped belong to the new mapping.
    unsafe {
        let whole = libc::mmap(null_mut(), bytes + align, access, flags, -1, 0);
        if whole == libc::MAP_FAILED {
            return null_mut();
        }
        let start = whole.cast::<u8>();
        let skip = start.align_offset(align);
        if skip > 0 {
            libc::munmap(whole, skip);
        }
        libc::munmap(start.add(skip + bytes).cast(), align - skip);
        start.add(skip)
    }
}

fn class(layout: Layout) -> u32 {
    let size = layout.size().max(layout.align()).max(1 << SMALLEST);
    size.next_power_of_two().trailing_zeros()
}

impl List {
    /// An empty list.
    pub const fn new() -> List {
        List(AtomicU64::new(0))
    }

    /// Takes a block from the list, or returns null if the list is empty. The first word of the
    /// block has an arbitrary value.
    pub fn take(&self) -> *mut u8 {
        // Acquire, with the Release of `give`: the block's link is visible.
        let mut seen = self.0.load(Ordering::Acquire);
        while seen & ADDRESS != 0 {
            let block = (seen & ADDRESS) as *const AtomicU64;
            // SAFETY: a block of a list stays mapped, and its first word is only accessed
            // atomically.
            let next = unsafe { (*block).load(Ordering::Relaxed) } & ADDRESS;
            let tagged = next | ((seen & !ADDRESS).wrapping_add(1 << ADDRESS_BITS));
            match self.0.compare_exchange_weak(seen, tagged, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return block as *mut u8,
                Err(now) => seen = now,
            }
        }
        null_mut()
    }

    /// Puts a block into the list.
    ///
    /// # Safety
    ///
    /// No thread uses the block, it is aligned to a word and stays mapped, and if it has another
    /// type, the first word of that type is atomic.
    pub unsafe fn give(&self, block: *mut u8) {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            // SAFETY: our caller's promise.
            unsafe { (*block.cast::<AtomicU64>()).store(seen & ADDRESS, Ordering::Relaxed) };
            let tagged = block.addr() as u64 | (seen & !ADDRESS);
            match self.0.compare_exchange_weak(seen, tagged, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }
}

impl Arena {
    fn take(&self, class: u32) -> *mut u8 {
        let block = self.free[(class - SMALLEST) as usize].take();
        if block.is_null() { self.fresh(1 << class) } else { block }
    }

    /// A block that was never used, at a multiple of its size.
    fn fresh(&self, size: u64) -> *mut u8 {
        let mut seen = self.next.load(Ordering::Relaxed);
        loop {
            let at = seen.next_multiple_of(size);
            let fits = !seen.is_multiple_of(CHUNK) && at + size <= seen.next_multiple_of(CHUNK);
            let at = if fits { at } else { map(CHUNK as usize, CHUNK as usize).addr() as u64 };
            if at == 0 {
                return null_mut();
            }
            // After a chunk was filled to its end, `next` is a multiple of CHUNK, which means that
            // no room is left.
            match self.next.compare_exchange_weak(
                seen,
                at + size,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return at as *mut u8,
                Err(now) => {
                    if !fits {
                        // SAFETY: the chunk was mapped above, and no other thread knows it.
                        unsafe { libc::munmap(at as *mut _, CHUNK as usize) };
                    }
                    seen = now;
                }
            }
        }
    }
}

// SAFETY: a block is either in one list or with one owner, and is large enough and aligned for the
// layout.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = class(layout);
        if class > LARGEST { map(1 << class, 4096) } else { self.take(class) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let class = class(layout);
        if class > LARGEST {
            // SAFETY: the block was mapped in `alloc`, with this size.
            unsafe { libc::munmap(block.cast(), 1 << class) };
        } else {
            // SAFETY: the caller owns the block, which is part of a chunk and large enough for a
            // word.
            unsafe { self.free[(class - SMALLEST) as usize].give(block) };
        }
    }
}
