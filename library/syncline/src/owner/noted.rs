//! Notes the holders of a lock and the waits for it, in debug builds.

use core::panic::Location;
use core::ptr::from_ref;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicPtr, fence};

use super::cycle::find_cycle;
use super::lock::{Named, Owner};
use super::mode::Mode;
use super::notes::{self, Hold, Wait};
use super::number::{is_this_thread, this_thread};

/// A wait, which is noted until this value is dropped.
pub(crate) struct Waiting {
    /// Whether there is a note: waits within waits have none.
    noted: bool,
}

// Unless a comment says otherwise, accesses to words are Relaxed; `lock.rs` says why.
impl Owner {
    /// Panics if this thread holds the lock exclusively.
    #[track_caller]
    pub(crate) fn expect_another(&self) {
        assert!(
            !is_this_thread(&self.thread),
            "this thread holds the lock already, since {}, and would wait for itself forever",
            self.since()
        );
    }

    /// Notes that this thread waits for the lock without a deadline, on the caller's line. The note
    /// stays until the result is dropped, which must be before the thread notes that it has the
    /// lock.
    ///
    /// Panics if this thread would wait for itself, or for a thread that waits for this one,
    /// directly or through other threads.
    #[track_caller]
    pub(crate) fn waits(&self, mode: Mode, lock: Named) -> Waiting {
        self.expect_another();
        let waiting = self.waits_unchecked(mode, lock, Location::caller());
        // SeqCst: the last thread of a cycle to pass this fence sees what the others have noted
        // before their fences: their waits, and before these, what they hold.
        fence(SeqCst);
        if waiting.noted && self.may_be_held() {
            let cycle = find_cycle();
            if let Some(cycle) = cycle {
                waiting.ends();
                panic!("{cycle}");
            }
        }
        waiting
    }

    /// Notes a wait as [`waits`](Self::waits) does, on this line, but looks for no cycle and never
    /// panics. A thread that waits later may find a cycle with this wait.
    pub(crate) fn waits_unchecked(
        &self,
        mode: Mode,
        lock: Named,
        since: &'static Location<'static>,
    ) -> Waiting {
        let owner = AtomicPtr::new(from_ref(self).cast_mut());
        let noted = notes::waits(Wait { owner, mode, lock, since });
        Waiting { noted }
    }

    /// Notes that this thread holds the lock, which it acquired on the caller's line.
    #[track_caller]
    pub(crate) fn set(&self) {
        self.since.store(from_ref(Location::caller()).cast_mut(), Relaxed);
        self.set_again();
    }

    /// Notes that this thread holds the lock again, with the line that is already noted.
    pub(crate) fn set_again(&self) {
        self.thread.store(this_thread(), Relaxed);
        notes::holds(Hold { lock: self.name(), mode: Mode::Alone, since: self.since() });
    }

    /// Notes that no thread holds the lock. Called before the release.
    pub(crate) fn clear(&self) {
        notes::releases(self.name(), Mode::Alone);
        self.thread.store(0, Relaxed);
    }

    /// Notes that this thread shares the lock, which it acquired on the caller's line.
    #[track_caller]
    pub(crate) fn share(&self, mode: Mode) {
        self.shares.fetch_add(1, Relaxed);
        notes::holds(Hold { lock: self.name(), mode, since: Location::caller() });
    }

    /// Notes that this thread gives up a share. Called before the release.
    pub(crate) fn unshare(&self, mode: Mode) {
        notes::releases(self.name(), mode);
        self.shares.fetch_sub(1, Relaxed);
    }
}

impl Waiting {
    /// Notes that the wait has ended.
    pub(crate) fn ends(self) {
        drop(self);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.noted {
            notes::waits_no_more();
        }
    }
}
