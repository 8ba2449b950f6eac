//! For tests: the native memory with three changes. Limits are small, a test chooses each thread's
//! groups, and the memory notes the critical sections that are reported to it.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32};
use core::time::Duration;
use std::cell::{Cell, RefCell};
use std::vec::Vec;

use super::interface::{Address, Memory};
use super::native::Native;
use super::native::Owned;
use super::node::OnStack;

/// The native memory with small limits, in which threads choose their groups.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Grouped;

std::thread_local! {
    static GROUPS: Cell<[usize; 3]> = const { Cell::new([0; 3]) };
    static NOTES: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

impl Grouped {
    /// Moves this thread to these groups, one for each level.
    pub(crate) fn migrate(groups: [usize; 3]) {
        GROUPS.set(groups);
    }

    /// Notes something that this thread does.
    pub(crate) fn note(what: &'static str) {
        NOTES.with_borrow_mut(|notes| notes.push(what));
    }

    /// What this thread has noted since the last call.
    pub(crate) fn notes() -> Vec<&'static str> {
        NOTES.take()
    }
}

// SAFETY: as for the native memory: the words and links are the same.
unsafe impl Memory for Grouped {
    type Word = AtomicU32;
    type Link<T> = AtomicPtr<T>;
    type Ref<T> = NonNull<T>;
    type Data<T> = Owned<T>;
    type Own<T: Default> = OnStack<T>;

    const PATIENCE: u32 = 10;
    const BATCH: u32 = 2;

    fn refer<T>(node: &T) -> NonNull<T> {
        Native::refer(node)
    }

    unsafe fn follow<'a, T: 'a>(node: NonNull<T>) -> &'a T {
        // SAFETY: the caller's promise.
        unsafe { Native::follow(node) }
    }

    fn allocate<T: Default>() -> NonNull<T> {
        Native::allocate()
    }

    unsafe fn free<T>(node: NonNull<T>) {
        // SAFETY: the caller's promise.
        unsafe { Native::free(node) }
    }

    fn pause(looks: u32) {
        Native::pause(looks);
    }

    fn delay(units: u32) {
        Native::delay(units);
    }

    fn yield_now() {
        Native::yield_now();
    }

    fn park(word: &AtomicU32, expected: u32, key: u32, deadline: Option<Duration>) {
        Native::park(word, expected, key, deadline);
    }

    fn unpark(address: Address, key: Option<u32>, count: u32) {
        Native::unpark(address, key, count);
    }

    fn now() -> Duration {
        Native::now()
    }

    fn group(level: usize) -> usize {
        GROUPS.get()[level]
    }

    fn prefetch_for_write(word: &AtomicU32) {
        Native::prefetch_for_write(word);
    }

    fn acquired() {
        Self::note("acquired");
    }

    fn releasing() {
        Self::note("releasing");
    }
}
