//! Requests that waited while every thread slept.

use serde::Serialize;

use super::in_call::InCall;

/// Requests that had arrived on TCP connections of the process, or connections that it had not
/// accepted, while no thread of the recorded program ran, was ready to run, or waited for input
/// from them. The sampler looks about ten times a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Unread {
    /// How often the sampler found such requests.
    pub looks: u64,
    /// Seconds of the run with such requests, an estimate from these looks.
    pub seconds: f64,
    /// On how many connections there were such requests meanwhile, on average.
    pub connections: f64,
    /// Where the threads that could have read the requests slept, those with most time first. These
    /// are the threads that waited for other connections of the same server. If there are none,
    /// they are the threads that waited for something other than a futex or an answer of this
    /// server.
    pub asleep: Vec<InCall>,
}
