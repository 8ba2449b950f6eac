//! Locks that are taken while another is held.

use serde::Serialize;

/// How often a lock was taken at a site with a certain lock held, among the sampled acquisitions.
/// These are each thread's first at a site, one in 128 of the others (fewer of a frequent one), and
/// all that waited.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nesting {
    /// Index in [`super::Process::locks`] of the lock that was taken.
    pub lock: usize,
    /// Index in [`super::Process::sites`] of the call site that took it.
    pub site: usize,
    /// Stack at which it was taken.
    pub stack: usize,
    /// The lock that was already held, the innermost if there were several; `None` if no lock was
    /// held.
    pub outer: Option<Outer>,
    /// Sampled acquisitions with that lock held. One that stands for more acquisitions than another
    /// counts more.
    pub seen: u64,
}

/// A lock that was already held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Outer {
    /// Its address.
    #[serde(serialize_with = "syncline_code::model::hex::one")]
    pub address: u64,
    /// Index in [`super::Process::locks`].
    pub lock: Option<usize>,
    /// Stack at which it had been taken.
    pub stack: usize,
    /// Site of that acquisition.
    pub site: Option<usize>,
}
