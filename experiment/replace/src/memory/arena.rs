//! Memory of our own, from which lines are cut. Memory is never returned to it; freed pieces are
//! kept for reuse ([`Cells`](super::Cells)).
//!
//! It is mapped chunk by chunk, as needed: a program may limit its address space, and only what is
//! mapped counts. A line has a number of 25 bits, made of the chunk's number and the line's in the
//! chunk:
//!
//! ```text
//!   number -> line     the table of chunks says where the chunk is
//!   line -> number     chunks lie at multiples of their size, and the last line of each has its number
//! ```
//!
//! Once a lock is in use, its queue nodes are indispensable. So the first chunk is a part of the
//! library, and is reserved for them: it exists even if nothing may be mapped.

use core::cell::UnsafeCell;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{
    AtomicPtr, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
};

use syncline_interpose::preserving_errno;

/// Two lines of the processor, since it fetches them in pairs.
pub const LINE: usize = 128;

/// Bytes of a chunk.
const CHUNK: usize = 256 << 10;
/// The number of lines of a chunk, with the one that has its number.
const LINES: usize = CHUNK / LINE;
/// The most chunks that numbers of 25 bits allow.
const CHUNKS: usize = (1 << 25) / LINES;

/// The number of lines of the first chunk, which has no number in it. Line 0 is never cut, since 0
/// is no number.
const KEPT: usize = LINES / 2;

#[repr(C, align(4096))]
struct First(UnsafeCell<[[u8; LINE]; KEPT]>);

// SAFETY: it is memory, whose lines are given out once each.
unsafe impl Sync for First {}

static FIRST: First = First(UnsafeCell::new([[0; LINE]; KEPT]));

static TABLE: [AtomicPtr<u8>; CHUNKS] = {
    let mut table = [const { AtomicPtr::new(null_mut()) }; CHUNKS];
    table[0] = AtomicPtr::new(FIRST.0.get().cast());
    table
};

/// The number of the next line, if the chunk has enough lines left.
static NEXT: AtomicUsize = AtomicUsize::new(LINES);
/// The number of the next line in the first chunk.
static NEXT_KEPT: AtomicUsize = AtomicUsize::new(1);

/// Maps the first chunk that is not part of the library, at a time when mapping is surely still
/// allowed.
pub(super) fn prepare() {
    // If mapping fails, `cut` returns `None` later.
    let _ = chunk(1);
}

/// One of the lines that are reserved for queue nodes, in the state in which [`cut`] returns a
/// line.
#[cold]
pub(super) fn cut_kept() -> Option<NonNull<u8>> {
    // Relaxed, both: lines need only differ.
    let next = NEXT_KEPT.fetch_add(1, Relaxed);
    if next >= KEPT {
        NEXT_KEPT.fetch_sub(1, Relaxed);
        return None;
    }
    Some(at(next as u32))
}

/// Some lines that were never used, all zero; `None` if there are no more.
#[cold]
pub(super) fn cut(lines: usize) -> Option<NonNull<u8>> {
    // Relaxed, here and below: lines need only differ.
    let mut next = NEXT.load(Relaxed);
    loop {
        let fits = next % LINES + lines < LINES;
        let start = if fits { next } else { next.next_multiple_of(LINES) };
        // The chunk is mapped before its lines are taken: if mapping fails now, it may succeed
        // later.
        chunk(start / LINES)?;
        match NEXT.compare_exchange_weak(next, start + lines, Relaxed, Relaxed) {
            Ok(_) => return Some(at(start as u32)),
            Err(now) => next = now,
        }
    }
}

/// The line of a number.
#[inline]
pub(super) fn at(number: u32) -> NonNull<u8> {
    let number = number as usize;
    // The remainder changes nothing, and saves a bounds check. Acquire: pairs with the AcqRel in
    // `chunk`.
    let chunk = TABLE[number / LINES % CHUNKS].load(Acquire);
    // SAFETY: a thread that knows a number has it from `number` or `cut`, so its chunk is there.
    unsafe { NonNull::new_unchecked(chunk.add(number % LINES * LINE)) }
}

/// The number of a line, not 0, below 2^25.
#[inline]
pub(super) fn number(line: NonNull<u8>) -> u32 {
    let kept = line.addr().get().wrapping_sub(FIRST.0.get().addr());
    if kept < KEPT * LINE {
        return (kept / LINE) as u32;
    }
    let within = line.addr().get() % CHUNK;
    // SAFETY: the line is in a chunk from `map`, whose last line `chunk` wrote before publishing
    // it.
    let chunk = unsafe { *label(line.as_ptr().sub(within)) };
    chunk * LINES as u32 + (within / LINE) as u32
}

/// Where a chunk has its number.
fn label(chunk: *mut u8) -> *mut u32 {
    chunk.wrapping_add(CHUNK - LINE).cast()
}

/// Where a chunk is; it is mapped if it isn't yet.
fn chunk(number: usize) -> Option<*mut u8> {
    let place = TABLE.get(number)?;
    // Acquire: pairs with the AcqRel below.
    let there = place.load(Acquire);
    if !there.is_null() {
        return Some(there);
    }
    let fresh = map()?;
    // SAFETY: the chunk is ours, and no other thread has seen it.
    unsafe { label(fresh).write(number as u32) };
    match place.compare_exchange(null_mut(), fresh, AcqRel, Acquire) {
        Ok(_) => Some(fresh),
        Err(theirs) => {
            // SAFETY: no other thread has seen the chunk.
            unsafe { unmap(fresh, CHUNK) };
            Some(theirs)
        }
    }
}

/// A chunk, all zero, at a multiple of its size: the last one in twice as much memory. The kernel maps
/// downwards, so the next one is below it, and both are one mapping to the kernel.
fn map() -> Option<*mut u8> {
    const TWICE: usize = 2 * CHUNK;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
    let all = preserving_errno(|| unsafe { libc::mmap(null_mut(), TWICE, access, flags, -1, 0) });
    if all == libc::MAP_FAILED {
        return None;
    }
    let all = all.cast::<u8>();
    let before = CHUNK - all.addr() % CHUNK;
    let chunk = all.wrapping_add(before);
    // SAFETY: both are parts of the mapping, which no other thread has seen.
    unsafe {
        unmap(all, before);
        unmap(chunk.wrapping_add(CHUNK), CHUNK - before);
    }
    Some(chunk)
}

/// # Safety
///
/// The memory is ours, and no thread uses it any more.
unsafe fn unmap(start: *mut u8, bytes: usize) {
    if bytes > 0 {
        // SAFETY: our caller's promise.
        preserving_errno(|| unsafe { libc::munmap(start.cast(), bytes) });
    }
}
