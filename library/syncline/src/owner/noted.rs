//! The holder of a lock, as debug builds note it.

use core::panic::Location;
use core::ptr::{from_ref, null_mut};
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::cycle::{self, Seat, Wait};

/// The thread that holds a lock exclusively, if any, and the line where it was taken.
#[derive(Debug, Default)]
pub(crate) struct Owner {
    seat: AtomicPtr<Seat>,
    since: AtomicPtr<Location<'static>>,
}

/// A thread waits for a lock, until this is dropped.
pub(crate) struct Waiting(Option<&'static Seat>);

// Relaxed but for the seat: a thread that asks whether it holds a lock compares with what it has written
// itself; and what others have written is seen by way of their seats (see `cycle`).
impl Owner {
    /// Nobody.
    pub(crate) const fn nobody() -> Self {
        Self { seat: AtomicPtr::new(null_mut()), since: AtomicPtr::new(null_mut()) }
    }

    /// Panics if this thread holds the lock.
    #[track_caller]
    pub(crate) fn expect_another(&self) {
        let Some(holder) = self.holder() else { return };
        assert!(
            !cycle::seat().is_some_and(|seat| core::ptr::eq(seat, holder)),
            "this thread holds the lock already, since {}, and would wait for itself forever",
            self.since()
        );
    }

    /// Notes that this thread waits for the lock. Panics if it would wait forever: for itself, or
    /// for one that waits for it.
    #[track_caller]
    pub(crate) fn waits(&self) -> Waiting {
        self.expect_another();
        let seat = cycle::seat();
        if let Some(seat) = seat {
            seat.wait(Wait { lock: from_ref(self), at: Location::caller() });
            if let Some(cycle) = cycle::found(seat, self) {
                seat.wait_no_more();
                panic!("{cycle}");
            }
        }
        Waiting(seat)
    }

    /// This thread holds the lock, since this line.
    #[track_caller]
    pub(crate) fn set(&self) {
        self.since.store(from_ref(Location::caller()).cast_mut(), Relaxed);
        self.set_again();
    }

    /// This thread holds the lock again, as it did since the line that is noted.
    pub(crate) fn set_again(&self) {
        let seat = cycle::seat().map_or(null_mut(), |seat| from_ref(seat).cast_mut());
        // Release: pairs with the Acquire in `holder`, for the seat was made before.
        self.seat.store(seat, Release);
    }

    /// Nobody holds the lock. To be called before it is released.
    pub(crate) fn clear(&self) {
        self.seat.store(null_mut(), Relaxed);
    }

    /// The seat of whoever holds the lock.
    pub(super) fn holder(&self) -> Option<&'static Seat> {
        // Acquire: pairs with the Release in `set_again`.
        let seat = self.seat.load(Acquire);
        // SAFETY: a seat, which is never freed.
        unsafe { seat.as_ref() }
    }

    /// Where it was taken.
    pub(super) fn since(&self) -> &'static Location<'static> {
        // SAFETY: a location, all of which are static.
        unsafe { self.since.load(Relaxed).as_ref() }.unwrap_or(Location::caller())
    }
}

impl Waiting {
    /// The lock has been taken.
    pub(crate) fn ends(self) {}
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(seat) = self.0 {
            seat.wait_no_more();
        }
    }
}
