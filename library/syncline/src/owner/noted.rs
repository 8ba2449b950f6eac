//! The holder of a lock, as debug builds note it.

use core::panic::Location;
use core::ptr::{from_ref, null_mut};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicUsize};

use super::number::{is_this_thread, this_thread};

/// The thread that holds a lock exclusively, if any, and the line where it was taken.
#[derive(Debug, Default)]
pub(crate) struct Owner {
    thread: AtomicUsize,
    since: AtomicPtr<Location<'static>>,
}

// Relaxed throughout: a thread compares with its own number only (see `is_this_thread`), and then
// finds its own line.
impl Owner {
    /// No thread.
    pub(crate) const fn nobody() -> Self {
        Self { thread: AtomicUsize::new(0), since: AtomicPtr::new(null_mut()) }
    }

    /// Panics if this thread holds the lock.
    #[track_caller]
    pub(crate) fn expect_another(&self) {
        assert!(
            !is_this_thread(&self.thread),
            "this thread holds the lock already, since {}, and would wait for itself forever",
            self.since()
        );
    }

    /// Notes that this thread holds the lock, since the caller's line.
    #[track_caller]
    pub(crate) fn set(&self) {
        self.since.store(from_ref(Location::caller()).cast_mut(), Relaxed);
        self.set_again();
    }

    /// Notes that this thread holds the lock again, since the line that is already noted.
    pub(crate) fn set_again(&self) {
        self.thread.store(this_thread(), Relaxed);
    }

    /// Notes that no thread holds the lock. Called before the release.
    pub(crate) fn clear(&self) {
        self.thread.store(0, Relaxed);
    }

    /// Where the lock was taken.
    fn since(&self) -> &'static Location<'static> {
        // SAFETY: null or the address of a location, and locations are static.
        unsafe { self.since.load(Relaxed).as_ref() }.unwrap_or(Location::caller())
    }
}
