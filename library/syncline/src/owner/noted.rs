//! The holders of a lock, as debug builds note them, and the waits for it.

use core::any::type_name;
use core::fmt;
use core::panic::Location;
use core::ptr::{from_ref, null_mut};
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicPtr, AtomicUsize, fence};

use super::Mode;
use super::cycle::find_cycle;
use super::notes::{self, Hold, Wait};
use super::number::{is_this_thread, this_thread};

/// What a lock knows of its holders: the thread that holds it exclusively, if any, and the line
/// where it was taken; and how many shares there are. Each thread's note has the rest
/// ([`notes`](super::notes)).
#[derive(Debug, Default)]
pub(crate) struct Owner {
    /// The name of the lock in the threads' notes, or 0 before the first note. An address would not
    /// do: a lock may be moved or freed while a forgotten guard still counts as a holder.
    name: AtomicUsize,
    thread: AtomicUsize,
    since: AtomicPtr<Location<'static>>,
    shares: AtomicUsize,
}

/// A lock as messages name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    kind: &'static str,
    value: &'static str,
    address: usize,
}

/// A noted wait, until it is dropped.
pub(crate) struct Waiting {
    /// Whether there is a note: waits within waits have none.
    noted: bool,
}

impl Named {
    /// A lock of this kind, at this address, with the value at that one under it.
    pub(crate) fn new<L: ?Sized, T: ?Sized>(
        kind: &'static str,
        lock: *const L,
        _value: *const T,
    ) -> Self {
        Self { kind, value: type_name::<T>(), address: lock.cast::<()>().addr() }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {}<{}> at {:#x}", self.kind, self.value, self.address)
    }
}

// Where nothing else is said, words are Relaxed: a thread compares with its own number (see
// `is_this_thread`), and then finds its own line; what it finds of other threads is checked against
// their notes, which are under locks.
impl Owner {
    /// No thread.
    pub(crate) const fn nobody() -> Self {
        Self {
            name: AtomicUsize::new(0),
            thread: AtomicUsize::new(0),
            since: AtomicPtr::new(null_mut()),
            shares: AtomicUsize::new(0),
        }
    }

    /// Panics if this thread holds the lock exclusively.
    #[track_caller]
    pub(crate) fn expect_another(&self) {
        assert!(
            !is_this_thread(&self.thread),
            "this thread holds the lock already, since {}, and would wait for itself forever",
            self.since()
        );
    }

    /// Notes that this thread waits for the lock, without a deadline, on the caller's line; until
    /// the result is dropped, before the thread notes that it has the lock.
    ///
    /// Panics if this thread would wait for itself, or for a thread that waits for it, perhaps
    /// through others.
    #[track_caller]
    pub(crate) fn waits(&self, mode: Mode, lock: Named) -> Waiting {
        self.expect_another();
        let waiting = self.waits_unchecked(mode, lock);
        // SeqCst: of the threads of a cycle, the last one here sees what the others have noted
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

    /// Notes a wait as [`waits`](Self::waits) does, but finds no cycle and never panics. A thread
    /// that waits later may find a cycle with this wait.
    #[track_caller]
    pub(crate) fn waits_unchecked(&self, mode: Mode, lock: Named) -> Waiting {
        let owner = AtomicPtr::new(from_ref(self).cast_mut());
        let noted = notes::waits(Wait { owner, mode, lock, since: Location::caller() });
        Waiting { noted }
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
        notes::holds(Hold { lock: self.name(), mode: Mode::Alone, since: self.since() });
    }

    /// Notes that no thread holds the lock. Called before the release.
    pub(crate) fn clear(&self) {
        notes::releases(self.name(), Mode::Alone);
        self.thread.store(0, Relaxed);
    }

    /// Notes that this thread shares the lock, since the caller's line.
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

    /// The thread that holds the lock alone, or 0. It may have released the lock since.
    pub(super) fn thread(&self) -> usize {
        self.thread.load(Relaxed)
    }

    /// Whether there are shares. They may have been given up since.
    pub(super) fn is_shared(&self) -> bool {
        self.shares.load(Relaxed) != 0
    }

    /// The name of the lock in the threads' notes.
    pub(super) fn name(&self) -> usize {
        static NAMES: AtomicUsize = AtomicUsize::new(1);
        match self.name.load(Relaxed) {
            0 => {
                let name = NAMES.fetch_add(1, Relaxed);
                self.name
                    .compare_exchange(0, name, Relaxed, Relaxed)
                    .map_or_else(|old| old, |_| name)
            }
            name => name,
        }
    }

    fn may_be_held(&self) -> bool {
        self.thread() != 0 || self.is_shared()
    }

    /// Where the lock was taken.
    fn since(&self) -> &'static Location<'static> {
        // SAFETY: null or the address of a location, and locations are static.
        unsafe { self.since.load(Relaxed).as_ref() }.unwrap_or(Location::caller())
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
