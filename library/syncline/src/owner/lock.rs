//! The notes of debug builds about a lock: its holder, and its name in messages.

use core::any::type_name;
use core::fmt;
use core::panic::Location;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicUsize};

/// The lock's own note about its holders: the thread that holds the lock exclusively, if any, the
/// line where that thread acquired it, and the number of shares. Each thread's note has the rest
/// ([`notes`](super::notes)).
#[derive(Debug, Default)]
pub(crate) struct Owner {
    /// The name of the lock in the threads' notes, or 0 before the first note. An address would not
    /// do: a lock may be moved or freed while a forgotten guard still counts as a holder.
    name: AtomicUsize,
    pub(super) thread: AtomicUsize,
    pub(super) since: AtomicPtr<Location<'static>>,
    pub(super) shares: AtomicUsize,
}

/// A lock as messages name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    kind: &'static str,
    value: &'static str,
    address: usize,
}

impl Named {
    /// A lock of this kind at the address `lock`, with the value at `_value` under it.
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

// Accesses to the words are Relaxed. A thread that finds its own number (see `is_this_thread`) also
// finds the line that it has noted itself. What a thread finds about other threads is checked
// against their notes, which are under locks.
impl Owner {
    /// The notes of a lock that no thread holds.
    pub(crate) const fn nobody() -> Self {
        Self {
            name: AtomicUsize::new(0),
            thread: AtomicUsize::new(0),
            since: AtomicPtr::new(null_mut()),
            shares: AtomicUsize::new(0),
        }
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

    /// Whether a thread may hold the lock.
    pub(super) fn may_be_held(&self) -> bool {
        self.thread() != 0 || self.is_shared()
    }

    /// Where the lock was taken.
    pub(super) fn since(&self) -> &'static Location<'static> {
        // SAFETY: null or the address of a location, and locations are static.
        unsafe { self.since.load(Relaxed).as_ref() }.unwrap_or(Location::caller())
    }
}
