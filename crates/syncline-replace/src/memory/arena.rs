//! Address space of our own, from which lines are cut. Nothing goes back to it; what is freed is
//! kept for the next ([`Cells`](super::Cells)).
//!
//! Lines of queue nodes can't be done without once a lock is in use; so some are kept for them, which
//! are usable from the start. Where nothing may be mapped at all, those are static.
//!
//! It is set aside whole, so that a line is known by a number of 32 bits, and made usable piece by
//! piece: pages that may not be touched cost nothing, also where all memory is locked in or no
//! more may be promised than there is.

use core::cell::UnsafeCell;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{
    AtomicPtr, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
};

use syncline_interpose::preserving_errno;

/// Two lines of the processor, since it fetches them in pairs.
pub const LINE: usize = 128;

/// Address space set aside; where limits forbid so much, a half, and so on.
const MOST: usize = 4 << 30;
const LEAST: usize = 4 << 20;
/// How much is made usable at a time.
const PIECE: usize = 256 << 10;
/// What is kept for queue nodes, at the start.
const KEPT: usize = PIECE / 2;

/// What there is if nothing may be mapped.
#[repr(C, align(4096))]
struct Static(UnsafeCell<[u8; KEPT]>);

// SAFETY: it is memory, whose parts are given out once each.
unsafe impl Sync for Static {}

static LAST: Static = Static(UnsafeCell::new([0; KEPT]));

static BASE: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static SIZE: AtomicUsize = AtomicUsize::new(0);
/// Bytes that were given out, with those that are kept.
static USED: AtomicUsize = AtomicUsize::new(KEPT);
/// Of those that are kept, bytes that were given out.
static KEPT_USED: AtomicUsize = AtomicUsize::new(0);
/// Bytes that may be touched.
static USABLE: AtomicUsize = AtomicUsize::new(KEPT);

/// Sets it aside, while that is surely allowed.
pub(super) fn prepare() {
    base();
}

/// One of the lines that are kept for queue nodes, as [`cut`] would give it.
#[cold]
pub(super) fn cut_kept() -> Option<NonNull<u8>> {
    // Relaxed, both: parts need only differ.
    let start = KEPT_USED.fetch_add(LINE, Relaxed);
    if start + LINE > KEPT {
        KEPT_USED.fetch_sub(LINE, Relaxed);
        return None;
    }
    // SAFETY: within the memory.
    NonNull::new(unsafe { base().add(start) })
}

/// Some lines that nobody had before, all zero; none if there are no more.
#[cold]
pub(super) fn cut(lines: usize) -> Option<NonNull<u8>> {
    let base = base();
    let bytes = lines * LINE;
    // Relaxed: parts need only differ.
    let start = USED.fetch_add(bytes, Relaxed);
    let size = size();
    if start.checked_add(bytes)? > size {
        USED.fetch_sub(bytes, Relaxed);
        return None;
    }
    // Acquire: pairs with the AcqRel below; the pages up to there are usable.
    while USABLE.load(Acquire) < start + bytes {
        let usable = USABLE.load(Acquire);
        let more = PIECE.min(size - usable);
        // Several may do this at once, to the same pages and with the same outcome.
        // SAFETY: the pages are ours.
        let allowed = preserving_errno(|| unsafe {
            libc::mprotect(base.add(usable).cast(), more, libc::PROT_READ | libc::PROT_WRITE)
        });
        if allowed != 0 {
            return None;
        }
        // Who fails was overtaken by somebody who did the same.
        let _ = USABLE.compare_exchange(usable, usable + more, AcqRel, Relaxed);
    }
    // SAFETY: within the mapping.
    NonNull::new(unsafe { base.add(start) })
}

/// The line of a number, which counts from 1.
#[inline]
pub(super) fn at(number: u32) -> NonNull<u8> {
    // Acquire: pairs with the AcqRel in `base`.
    let base = BASE.load(Acquire);
    // SAFETY: whoever knows a number has it from `number`, so the line is there.
    unsafe { NonNull::new_unchecked(base.add((number as usize - 1) * LINE)) }
}

/// The number of a line.
#[inline]
pub(super) fn number(line: NonNull<u8>) -> u32 {
    // Relaxed: who has a line has seen the base.
    ((line.addr().get() - BASE.load(Relaxed).addr()) / LINE + 1) as u32
}

fn base() -> *mut u8 {
    // Acquire: pairs with the AcqRel below.
    let base = BASE.load(Acquire);
    if !base.is_null() {
        return base;
    }
    let (fresh, size) = reserve().unwrap_or((LAST.0.get().cast(), KEPT));
    match BASE.compare_exchange(null_mut(), fresh, AcqRel, Acquire) {
        Ok(_) => {
            // Relaxed: it goes with nothing else.
            SIZE.store(size, Relaxed);
            fresh
        }
        Err(theirs) => {
            if size != KEPT {
                // SAFETY: nobody else has seen this mapping.
                preserving_errno(|| unsafe { libc::munmap(fresh.cast(), size) });
            }
            theirs
        }
    }
}

/// The size, which whoever has set the base is about to store.
fn size() -> usize {
    loop {
        // Relaxed: see `base`.
        let size = SIZE.load(Relaxed);
        if size != 0 {
            return size;
        }
        core::hint::spin_loop();
    }
}

fn reserve() -> Option<(*mut u8, usize)> {
    let mut size = MOST;
    while size >= LEAST {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice touches nobody's memory.
        let mapped = preserving_errno(|| unsafe {
            libc::mmap(null_mut(), size, libc::PROT_NONE, flags, -1, 0)
        });
        if mapped != libc::MAP_FAILED {
            // SAFETY: it is ours.
            let usable = preserving_errno(|| unsafe {
                libc::mprotect(mapped, KEPT, libc::PROT_READ | libc::PROT_WRITE)
            });
            if usable == 0 {
                return Some((mapped.cast(), size));
            }
            // SAFETY: nobody else has seen this mapping.
            preserving_errno(|| unsafe { libc::munmap(mapped, size) });
        }
        size /= 2;
    }
    None
}
