//! A lock, or another object that threads wait for.

use serde::Serialize;
use syncline_recording::{Class, Op, Primitive};

use super::blocking::Blocker;
use super::figures::{Figures, Kind};
use super::quadrant::Quadrant;

/// A lock, or another object that threads wait for: the sum of all operations of one primitive at
/// one address.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lock {
    /// The lock's address.
    #[serde(serialize_with = "syncline_code::model::hex::one")]
    pub address: u64,
    /// The kind of object: a mutex, a condition variable, and so on.
    pub primitive: Primitive,
    /// Whether the object is a lock, a futex or an event.
    pub kind: Kind,
    /// The lock's name: that of a global variable, such as `table+0x40 (program)`; otherwise the
    /// line that created it, `mutex created at FILE:LINE`; otherwise its primitive and address. A
    /// primitive with one object for all calls, such as a yield, has only the primitive's name.
    pub name: String,
    /// Other variables on the lock's cache line, if the lock is a global variable itself.
    pub beside: Vec<String>,
    /// The stack at which the lock was created; `None` if that was not recorded.
    pub created_at: Option<usize>,
    /// How many recorded creations of such an object there were at this address. There may be
    /// several, since freed memory may become another lock.
    pub created: u64,
    /// The initial value of a semaphore; `None` if its creation was not recorded.
    pub begins_with: Option<u64>,
    /// What was done to the lock. `calls` leaves out wake-ups and creations.
    pub figures: Figures,
    /// Whether the lock was used at a call site with so many locks that they were not counted one
    /// by one. Then the lock's `calls` are an estimate, and threads that are not in `threads` may
    /// have used it. The waits are exact.
    pub sampled: bool,
    /// Wake-ups: signals, broadcasts, posts.
    pub wake_ups: u64,
    /// The lock's quadrant, by contention and acquisitions; `None` for objects that are not locks.
    pub quadrant: Option<Quadrant>,
    /// The sites that used the lock, including those that wake threads, in the order of
    /// [`super::Process::sites`].
    pub sites: Vec<SiteUse>,
    /// The holders for which threads waited, those with most time waited first.
    pub blockers: Vec<Blocker>,
    /// The threads that used the lock, as indexes of [`super::Process::threads`], each with its
    /// number of calls. Not part of the JSON report.
    #[serde(skip)]
    pub threads: Vec<(usize, u64)>,
}

impl Lock {
    /// The uses of the lock by operations of a class.
    pub fn uses(&self, class: Class) -> impl Iterator<Item = &SiteUse> {
        self.sites.iter().filter(move |used| used.op.class() == class)
    }
}

/// The operations of one call site on one lock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiteUse {
    /// The call site, as an index of [`super::Process::sites`].
    pub site: usize,
    /// The operation.
    pub op: Op,
    /// Calls that succeeded, as [`Figures::calls`].
    pub calls: u64,
    /// Calls that had to wait, as [`Figures::waits`].
    pub waits: u64,
    /// Tries that were refused.
    pub refused: u64,
    /// Seconds waited.
    pub waited: f64,
    /// Seconds held, an estimate.
    pub held: f64,
    /// The number of calls of each thread, with its index in [`super::Process::threads`]. Not part
    /// of the JSON report.
    #[serde(skip)]
    pub by_thread: Vec<(usize, u64)>,
}
