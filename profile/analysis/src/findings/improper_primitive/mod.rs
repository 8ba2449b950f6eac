//! Improper primitives: another primitive would do the same for less (SyncPerf, section 2.1.1).

mod atomic_instead;
mod condvar;
mod look;
mod loops;
mod only_writers;
mod polling;
mod readers;
mod spinlock_instead;
mod yields;

use crate::model::{Finding, Process};
use crate::options::Thresholds;

/// What is found of this kind.
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
        condvar::find,
    ];
    rules.iter().flat_map(|rule| rule(process, thresholds)).collect()
}
