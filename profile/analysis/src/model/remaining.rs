//! Locks and events that take time and that no finding explains.

use serde::Serialize;

use super::figures::Kind;
use super::question::OpenQuestion;

/// Locks of one kind, or an event, that take much of the threads' time, with what is known of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remaining {
    /// What is waited for: `mutex cache_lock (memcached)`, `4,096 locks`, `condvar not_empty`.
    pub what: String,
    /// What waiting for it means.
    pub kind: Kind,
    /// The call site with most of the time, as [`super::Site::place`].
    pub place: String,
    /// The sites, most time first.
    pub sites: Vec<usize>,
    /// Seconds of all threads: waits and, for locks, refused tries.
    pub seconds: f64,
    /// These seconds as a share of all threads' time, from 0 to 1.
    pub share: f64,
    /// Whether the threads that wait there do hardly anything else: a pool that has no work, or a
    /// thread that waits for others to end.
    pub idle: bool,
    /// Which threads wait for which, and which causes are ruled out by which numbers.
    pub why: String,
    /// The question to ask next, and the command that answers it.
    pub open_question: Option<OpenQuestion>,
}
