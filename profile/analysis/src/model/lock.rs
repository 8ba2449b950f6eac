//! A lock, or another object that threads wait for.

use serde::Serialize;
use syncline_recording::{Class, Op, Primitive};

use super::blocking::Blocker;
use super::figures::{Figures, Kind};
use super::quadrant::Quadrant;

/// A lock, or another object that threads wait for: all that was done with one primitive at one
/// address.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lock {
    /// Its address.
    #[serde(serialize_with = "syncline_code::model::hex::one")]
    pub address: u64,
    /// What it is.
    pub primitive: Primitive,
    /// What waiting for it means.
    pub kind: Kind,
    /// Its name: that of a global variable, such as `table+0x40 (program)`; otherwise the line that
    /// created it, `mutex created at FILE:LINE`; otherwise its address.
    pub name: String,
    /// Other variables on its cache line, if it is a variable itself.
    pub beside: Vec<String>,
    /// Stack of its creation, if that was recorded.
    pub created_at: Option<usize>,
    /// How often an object of its kind was created at its address, if that was recorded: freed
    /// memory may become another lock.
    pub created: u64,
    /// The initial value of a semaphore, if its creation was recorded.
    pub begins_with: Option<u64>,
    /// What was done to it. `calls` leaves out wake-ups and creation.
    pub figures: Figures,
    /// Whether it was used at a call site with so many locks that they were not counted one by one.
    /// Then its `calls` are an estimate, and threads that are not in `threads` may have used it.
    /// Its waits are exact.
    pub sampled: bool,
    /// Wake-ups: signals, broadcasts, posts.
    pub wake_ups: u64,
    /// Its quadrant, by contention and acquisitions; `None` if it is not a lock.
    pub quadrant: Option<Quadrant>,
    /// The sites that used it, including those that wake threads, in the order of
    /// [`super::Process::sites`].
    pub sites: Vec<SiteUse>,
    /// The threads that held it while others waited, most time first.
    pub blockers: Vec<Blocker>,
    /// The threads that used it, as indexes of [`super::Process::threads`], each with its number of
    /// calls. Not part of the JSON report.
    #[serde(skip)]
    pub threads: Vec<(usize, u64)>,
}

impl Lock {
    /// The sites with operations of a class on it.
    pub fn uses(&self, class: Class) -> impl Iterator<Item = &SiteUse> {
        self.sites.iter().filter(move |used| used.op.class() == class)
    }
}

/// The operations of one call site on one lock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiteUse {
    /// The site.
    pub site: usize,
    /// The operation.
    pub op: Op,
    /// As in [`Figures`].
    pub calls: u64,
    /// As in [`Figures`].
    pub waits: u64,
    /// As in [`Figures`].
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
