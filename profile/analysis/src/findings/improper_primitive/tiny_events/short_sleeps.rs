//! Short sleeps in system calls that the recorder does not see.
//!
//! Samples show how much time threads spend in them. How often the threads got a processor says how
//! often they slept: nothing else makes threads leave their processors a thousand times a second.

use std::collections::BTreeSet;

use super::finding::FLOOR;
use super::meetings::MUCH;
use crate::findings::evidence::{count, rate, seconds, share};
use crate::findings::working::could_run;
use crate::gain::WAKE_UP;
use crate::model::{Finding, InCall, Process, Remedy, Rule};
use crate::options::Thresholds;

/// Threads must sleep so for at least this share of their time.
const LEAST_ASLEEP: f64 = 0.1;

/// Threads whose sleeps and wake-ups take much of their processor time.
pub struct ShortSleeps {
    /// The threads, as indexes of [`Process::threads`].
    pub threads: BTreeSet<usize>,
    /// The seconds for which they sleep, all together.
    pub slept: f64,
    /// The sleeps of all threads in a second.
    per_second: f64,
    /// The share of the threads' time in which they sleep.
    asleep: f64,
    /// The seconds for which a thread works between two sleeps.
    work: f64,
    /// The time that sleeping and waking takes, as a share of the run: at most all processor time
    /// of these threads.
    cost: f64,
}

impl ShortSleeps {
    /// `None` if these sleeps are few, or long, or little of the threads' time.
    pub fn of(process: &Process, sleeps: &[&InCall], thresholds: &Thresholds) -> Option<Self> {
        let threads: BTreeSet<usize> =
            sleeps.iter().flat_map(|asleep| &asleep.threads).copied().collect();
        let each = || threads.iter().map(|&thread| &process.threads[thread]);
        let slept: f64 = sleeps.iter().map(|asleep| asleep.seconds).sum();
        let could_run: f64 = each().map(could_run).sum();
        let worked: f64 = each().map(|thread| thread.ran()).sum();
        let slices: u64 = each().filter_map(|thread| thread.slices).sum();
        let per_second = slices as f64 / process.seconds;
        let applies = slept >= LEAST_ASLEEP * could_run
            && per_second > thresholds.acquisitions_per_second
            && per_second * WAKE_UP >= FLOOR
            && slices as f64 * WAKE_UP >= MUCH * worked;
        let (asleep, work) = (slept / could_run, worked / slices as f64);
        let cost = (per_second * WAKE_UP).min(worked / process.seconds);
        applies.then_some(ShortSleeps { threads, slept, per_second, asleep, work, cost })
    }

    /// What a finding about these sleeps has in common with others, for the sleeps of this place.
    /// `asleep` says what the threads' time asleep is.
    pub fn draft(&self, place: &InCall, asleep: &str) -> Finding {
        Finding {
            rule: Rule::TinyEvents,
            title: String::new(),
            place: place.place.clone(),
            sites: Vec::new(),
            locks: Vec::new(),
            evidence: vec![
                rate("sleeps", self.per_second),
                seconds("work of a thread between two sleeps", self.work),
                share(asleep, self.asleep),
                share("time to put threads to sleep and wake them (estimate)", self.cost),
                count("threads", self.threads.len() as u64),
            ],
            advice: String::new(),
            open_question: None,
            remedy: Remedy::Unknown,
            gain: None,
        }
    }
}
