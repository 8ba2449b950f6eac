//! Improper primitives: another primitive would do the same at less cost (SyncPerf, section 2.1.1).

mod atomic_instead;
pub mod library_lock;
mod look;
mod loops;
mod most_lost;
mod only_writers;
mod polling;
mod readers;
mod sleeps;
mod spinlock_instead;
mod tiny_events;
mod yields;

use crate::model::{Finding, Process};
use crate::options::Thresholds;

/// The findings of this kind.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let rules = [
        atomic_instead::find,
        spinlock_instead::find,
        look::find,
        readers::find,
        only_writers::find,
        polling::find,
        yields::find,
        loops::find,
        sleeps::find,
        tiny_events::find,
        library_lock::find,
    ];
    rules.iter().flat_map(|rule| rule(process, thresholds)).collect()
}
