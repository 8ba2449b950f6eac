//! Locks that are taken while another is held.

use serde::Serialize;

/// How often a lock was taken at a site with a certain lock held, among the sampled acquisitions: a
/// site's first by each thread, one in 128, and all that waited.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nesting {
    /// Index in [`super::Process::locks`] of the lock that was taken.
    pub lock: usize,
    /// Index in [`super::Process::sites`] of the call site that took it.
    pub site: usize,
    /// Stack at which it was taken.
    pub stack: usize,
    /// The lock that was already held, the innermost of them; `None` for acquisitions without one.
    pub outer: Option<Outer>,
    /// Sampled acquisitions with that lock held.
    pub seen: u64,
}

/// The lock that was held already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Outer {
    /// Its address.
    #[serde(serialize_with = "syncline_code::model::hex::one")]
    pub address: u64,
    /// Place in [`super::Process::locks`].
    pub lock: Option<usize>,
    /// Stack at which it had been taken.
    pub stack: usize,
    /// Site of that acquisition.
    pub site: Option<usize>,
}
