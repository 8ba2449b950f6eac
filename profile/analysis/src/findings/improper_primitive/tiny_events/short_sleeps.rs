//! Short sleeps in system calls that the recorder does not see.
//!
//! Samples show how much time threads spend in them. How often the threads got a processor says how
//! often they slept: nothing else makes threads leave their processors a thousand times a second.

use std::collections::BTreeSet;

use super::finding::FLOOR;
use super::meetings::MUCH;
use crate::findings::working::could_run;
use crate::gain::WAKE_UP;
use crate::model::{InCall, Process};
use crate::options::Thresholds;

/// Threads must sleep so for at least this share of their time.
const LEAST_ASLEEP: f64 = 0.1;

/// Threads whose sleeps and wake-ups take much of their processor time.
pub struct ShortSleeps {
    /// How many threads there are.
    pub threads: usize,
    /// The sleeps of all threads in a second.
    pub per_second: f64,
    /// The share of the threads' time in which they sleep.
    pub asleep: f64,
    /// The seconds for which a thread works between two sleeps.
    pub work: f64,
    /// The time that sleeping and waking takes, as a share of the run: at most all processor time
    /// of these threads.
    pub cost: f64,
}

impl ShortSleeps {
    /// `None` if these sleeps are few, or long, or little of the threads' time.
    pub fn of(process: &Process, sleeps: &[&InCall], thresholds: &Thresholds) -> Option<Self> {
        let threads: BTreeSet<usize> =
            sleeps.iter().flat_map(|asleep| &asleep.threads).copied().collect();
        let threads = || threads.iter().map(|&thread| &process.threads[thread]);
        let slept: f64 = sleeps.iter().map(|asleep| asleep.seconds).sum();
        let could_run: f64 = threads().map(could_run).sum();
        let worked: f64 = threads().map(|thread| thread.ran()).sum();
        let slices: u64 = threads().filter_map(|thread| thread.slices).sum();
        let per_second = slices as f64 / process.seconds;
        let applies = slept >= LEAST_ASLEEP * could_run
            && per_second > thresholds.acquisitions_per_second
            && per_second * WAKE_UP >= FLOOR
            && slices as f64 * WAKE_UP >= MUCH * worked;
        applies.then(|| ShortSleeps {
            threads: threads().count(),
            per_second,
            asleep: slept / could_run,
            work: worked / slices as f64,
            cost: (per_second * WAKE_UP).min(worked / process.seconds),
        })
    }
}
