//! Locks and events that take time and that no finding explains.

use serde::Serialize;

use super::figures::Kind;
use super::question::OpenQuestion;

/// A family of locks, or an event, that takes much of the threads' time, and what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remaining {
    /// What threads wait for: `mutex cache_lock (memcached)`, `4,096 locks`, `condvar not_empty`.
    pub what: String,
    /// Whether these are locks, futexes or events.
    pub kind: Kind,
    /// The call site with most of the time, as [`super::Site::place`].
    pub place: String,
    /// The call sites, as indexes of [`super::Process::sites`], those with most time first.
    pub sites: Vec<usize>,
    /// Seconds summed over all threads: waits and, for locks, refused tries. If the locks are
    /// listed for their calls: the calls.
    pub seconds: f64,
    /// These seconds as a share of all threads' time, from 0 to 1.
    pub share: f64,
    /// Whether the threads that wait there hardly do anything else, like a pool that has no work,
    /// or a thread that waits for others to end.
    pub idle: bool,
    /// Which threads wait for which, and which causes are ruled out by which numbers.
    pub why: String,
    /// The question to ask next, and the command that answers it; `None` if there is none.
    pub open_question: Option<OpenQuestion>,
}
