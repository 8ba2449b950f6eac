//! The memory of replaced locks. It is like [`Native`], with three differences.
//!
//! A function of POSIX threads may be called by the program's allocator, so nodes come from lines
//! of our own ([`lines`]). Such a function also must not change `errno`, as system calls for
//! sleeping and waking would. And before the program's start, all processors count as near each
//! other ([`learn_groups_if_needed`]).

mod arena;
mod cells;
mod ends;
mod lines;

pub use arena::LINE;
pub use cells::Cells;

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::Relaxed};
use core::time::Duration;

use syncline::memory::{Address, Memory, Native, OnStack};
use syncline_interpose::preserving_errno;

/// The memory of replaced locks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own;

/// Whether a chosen lock needs the groups of near processors; [`GROUPS_KNOWN`] says whether they
/// are known.
static GROUPS_NEEDED: AtomicBool = AtomicBool::new(false);
static GROUPS_KNOWN: AtomicBool = AtomicBool::new(false);

/// Notes that a chosen lock needs to know which processors are near each other.
pub fn need_groups() {
    // Relaxed: the flag is read at the program's start.
    GROUPS_NEEDED.store(true, Relaxed);
}

/// Finds out which processors are near each other, if a chosen lock needs it. To do so it reads
/// files and allocates, so it is called at the program's start. Before this call, all processors
/// count as one group.
pub fn learn_groups_if_needed() {
    // Relaxed: this thread has chosen the locks, or waited for the choice.
    if GROUPS_NEEDED.load(Relaxed) {
        Native::group(0);
        // Relaxed: the groups have an ordering of their own, and it is harmless if a thread sees
        // this store late.
        GROUPS_KNOWN.store(true, Relaxed);
    }
}

/// Maps memory, and prepares to notice the ends of threads, if possible.
pub fn prepare() {
    arena::prepare();
    lines::prepare();
}

// SAFETY: words, links and references are those of `Native`, so its implementation's argument holds
// here too.
unsafe impl Memory for Own {
    type Word = AtomicU32;
    type Link<T> = AtomicPtr<T>;
    type Ref<T> = NonNull<T>;
    type Data<T> = <Native as Memory>::Data<T>;
    type Own<T: Default> = OnStack<T>;

    const PATIENCE: u32 = Native::PATIENCE;
    const BATCH: u32 = Native::BATCH;

    #[inline(always)]
    fn refer<T>(node: &T) -> NonNull<T> {
        NonNull::from_ref(node)
    }

    #[inline(always)]
    unsafe fn follow<'a, T: 'a>(node: NonNull<T>) -> &'a T {
        // SAFETY: the caller keeps the node alive and in place.
        unsafe { node.as_ref() }
    }

    #[inline]
    fn allocate<T: Default>() -> NonNull<T> {
        const { assert!(size_of::<T>() <= LINE && align_of::<T>() <= LINE) };
        let node = lines::take().cast::<T>();
        // SAFETY: only this thread has the line, which is large enough and aligned.
        unsafe { node.write(T::default()) };
        node
    }

    #[inline]
    unsafe fn free<T>(node: NonNull<T>) {
        // SAFETY: the node comes from `allocate`, and this is its last use.
        unsafe {
            node.drop_in_place();
            lines::give(node.cast());
        }
    }

    #[inline]
    fn pause(looks: u32) {
        Native::pause(looks);
    }

    #[inline]
    fn delay(units: u32) {
        Native::delay(units);
    }

    fn yield_now() {
        preserving_errno(Native::yield_now);
    }

    fn park(word: &AtomicU32, expected: u32, key: u32, deadline: Option<Duration>) {
        preserving_errno(|| Native::park(word, expected, key, deadline));
    }

    fn unpark(address: Address, key: Option<u32>, count: u32) {
        preserving_errno(|| Native::unpark(address, key, count));
    }

    fn now() -> Duration {
        Native::now()
    }

    fn group(level: usize) -> usize {
        // Relaxed: see `learn_groups_if_needed`.
        if GROUPS_KNOWN.load(Relaxed) { Native::group(level) } else { 0 }
    }

    #[inline]
    fn is_divided(level: usize) -> bool {
        // Relaxed: as above.
        GROUPS_KNOWN.load(Relaxed) && Native::is_divided(level)
    }

    #[inline(always)]
    fn prefetch_for_write(word: &AtomicU32) {
        Native::prefetch_for_write(word);
    }
}
