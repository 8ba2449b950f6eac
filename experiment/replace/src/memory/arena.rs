//! The library's own memory, which is cut into lines. Freed pieces are never returned to the arena,
//! but are kept for reuse ([`Cells`](super::Cells)).
//!
//! The memory is mapped chunk by chunk, as needed: a program may limit its address space, and only
//! mapped memory counts. A line has a number of 25 bits, which consists of the chunk's number and
//! the line's number in the chunk:
//!
//! ```text
//!   number -> line     the table of chunks says where the chunk is
//!   line -> number     chunks lie at multiples of their size, and the last line of each has its number
//! ```
//!
//! A lock in use must get its queue nodes. So the first chunk is a part of the library, and is
//! reserved for nodes: it exists even if nothing can be mapped.

use core::cell::UnsafeCell;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{
    AtomicPtr, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
};

use syncline_interpose::preserving_errno;

/// Bytes of a line: two cache lines, since processors fetch these in pairs.
pub const LINE: usize = 128;

/// Bytes of a chunk.
const CHUNK: usize = 256 << 10;
/// The number of lines of a chunk, including the line that has the chunk's number.
const LINES: usize = CHUNK / LINE;
/// The most chunks that numbers of 25 bits allow.
const CHUNKS: usize = (1 << 25) / LINES;

/// The number of lines of the first chunk. This chunk has no line with its own number. Line 0 is
/// never handed out, since 0 is not a valid number.
const KEPT: usize = LINES / 2;

#[repr(C, align(4096))]
struct First(UnsafeCell<[[u8; LINE]; KEPT]>);

// SAFETY: it is plain memory, and each line is handed out only once.
unsafe impl Sync for First {}

static FIRST: First = First(UnsafeCell::new([[0; LINE]; KEPT]));

static TABLE: [AtomicPtr<u8>; CHUNKS] = {
    let mut table = [const { AtomicPtr::new(null_mut()) }; CHUNKS];
    table[0] = AtomicPtr::new(FIRST.0.get().cast());
    table
};

/// The number of the next line to hand out, if its chunk has enough lines left.
static NEXT: AtomicUsize = AtomicUsize::new(LINES);
/// The number of the next line to hand out in the first chunk.
static NEXT_KEPT: AtomicUsize = AtomicUsize::new(1);

/// Maps the first chunk that is not part of the library, while mapping is certainly still allowed.
pub(super) fn prepare() {
    // If mapping fails, `cut` returns `None` later.
    let _ = chunk(1);
}

/// Hands out one of the lines that are reserved for queue nodes, all zero; `None` if there are no
/// more.
#[cold]
pub(super) fn cut_kept() -> Option<NonNull<u8>> {
    // Relaxed, both: the lines only have to be different.
    let next = NEXT_KEPT.fetch_add(1, Relaxed);
    if next >= KEPT {
        NEXT_KEPT.fetch_sub(1, Relaxed);
        return None;
    }
    Some(at(next as u32))
}

/// Hands out some lines that were never used, all zero; `None` if no more memory can be mapped or
/// numbered.
#[cold]
pub(super) fn cut(lines: usize) -> Option<NonNull<u8>> {
    // Relaxed, here and below: the lines only have to be different.
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

/// The line with this number.
#[inline]
pub(super) fn at(number: u32) -> NonNull<u8> {
    let number = number as usize;
    // The remainder changes nothing, and saves a bounds check. Acquire pairs with the AcqRel in
    // `chunk`.
    let chunk = TABLE[number / LINES % CHUNKS].load(Acquire);
    // SAFETY: a thread that has a number got it from `number` or `cut`, so its chunk is mapped.
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

/// The address of a chunk's number, in its last line.
fn label(chunk: *mut u8) -> *mut u32 {
    chunk.wrapping_add(CHUNK - LINE).cast()
}

/// The address of a chunk, which is mapped if it has not been yet; `None` if that fails.
fn chunk(number: usize) -> Option<*mut u8> {
    let place = TABLE.get(number)?;
    // Acquire pairs with the AcqRel below.
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

/// Maps a chunk, all zero, at a multiple of its size. Twice as much memory is mapped, and its last
/// aligned chunk is kept. The kernel maps downwards, so the next chunk is just below, and the
/// kernel merges both mappings.
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
    // SAFETY: both pieces are parts of the new mapping, which no other thread has seen.
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
