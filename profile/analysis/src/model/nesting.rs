//! Locks that are taken while another is held.

use serde::Serialize;

/// How often a lock was taken at a site while a certain other lock was held, among the sampled
/// acquisitions. These are each thread's first at a site, those that waited, and one in 128 of the
/// others (fewer if they are frequent).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nesting {
    /// Index in [`super::Process::locks`] of the lock that was taken.
    pub lock: usize,
    /// Index in [`super::Process::sites`] of the call site that took it.
    pub site: usize,
    /// The stack at which the lock was taken.
    pub stack: usize,
    /// The lock that was already held, the innermost if there were several; `None` if no lock was
    /// held.
    pub outer: Option<Outer>,
    /// The number of sampled acquisitions with that lock held, each counted with its weight. The
    /// weight is 1 if the acquisition waited or stands for 128 acquisitions, and larger if it
    /// stands for more.
    pub seen: u64,
}

/// A lock that was already held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Outer {
    /// The lock's address.
    #[serde(serialize_with = "syncline_code::model::hex::one")]
    pub address: u64,
    /// The lock's index in [`super::Process::locks`]; `None` if unknown.
    pub lock: Option<usize>,
    /// The stack at which the lock had been taken.
    pub stack: usize,
    /// The site of that acquisition; `None` if unknown.
    pub site: Option<usize>,
}
