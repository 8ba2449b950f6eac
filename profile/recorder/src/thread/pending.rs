//! A wait for a lock that has ended, but is counted only when the thread has released the lock.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncline_recording::layout::Row;

use crate::thread::held::{Holder, Outer};

/// A wait that ended with a lock.
#[derive(Clone, Copy)]
pub struct EndedWait {
    /// The row that counts it.
    pub row: *mut Row,
    /// When it began and ended, in ticks.
    pub began: u64,
    pub ended: u64,
    /// The thread that it waited for.
    pub holder: Option<Holder>,
    /// The lock that the thread already held.
    pub outer: Option<Outer>,
}

/// Room for a thread's latest wait. Only the thread itself uses it, but its signal handlers may do
/// so at any moment. It lies in the page that a forked child touches, so it is compact: zeros stand
/// for `None`.
#[repr(C)]
pub struct Pending {
    /// When the wait began; 0 if there is none.
    began: AtomicU64,
    ended: Cell<u64>,
    row: Cell<*mut Row>,
    /// [`EndedWait::outer`]; lock 0 if there is none.
    outer: Cell<Outer>,
    /// [`EndedWait::holder`]; stack 0 if there is none.
    holder: Cell<Holder>,
}

impl Pending {
    /// Keeps a wait. An earlier one must have been taken.
    pub fn put(&self, wait: EndedWait) {
        self.ended.set(wait.ended);
        self.row.set(wait.row);
        self.outer.set(wait.outer.unwrap_or(Outer { lock: 0, stack: 0 }));
        self.holder.set(wait.holder.unwrap_or(Holder { stack: 0, thread: 0 }));
        self.began.store(wait.began, Relaxed);
    }

    /// Takes the wait out; `None` if there is none, or if a signal handler has just taken it.
    #[inline(always)]
    pub fn take(&self) -> Option<EndedWait> {
        if self.began.load(Relaxed) == 0 { None } else { self.claim() }
    }

    #[inline(never)]
    fn claim(&self) -> Option<EndedWait> {
        // The wait is copied before it is claimed. A signal handler that runs in between takes this
        // wait. A lock for which the handler waits itself is released before the handler returns.
        let wait = EndedWait {
            row: self.row.get(),
            began: 0,
            ended: self.ended.get(),
            holder: Some(self.holder.get()).filter(|holder| holder.stack != 0),
            outer: Some(self.outer.get()).filter(|outer| outer.lock != 0),
        };
        let began = self.began.swap(0, Relaxed);
        (began != 0).then_some(EndedWait { began, ..wait })
    }

    /// Updates the row after rows have moved: `new_place` gives the new address of each.
    pub fn relocate(&self, new_place: impl Fn(*mut Row) -> *mut Row) {
        if self.began.load(Relaxed) != 0 {
            self.row.set(new_place(self.row.get()));
        }
    }

    /// Forgets the wait.
    pub fn clear(&self) {
        self.began.store(0, Relaxed);
    }
}
