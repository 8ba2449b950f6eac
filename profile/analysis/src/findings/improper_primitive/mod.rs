//! Improper primitives: another primitive would do the same for less (SyncPerf, section 2.1.1).

mod atomic_instead;

mod look;
mod loops;
mod only_writers;
mod polling;
mod readers;
mod sleeps;
mod spinlock_instead;
mod tiny_events;
mod yields;

use super::family::descending;
use crate::model::{Finding, Process, Site};
use crate::options::Thresholds;

/// A call site with less than this share of the most at one is not named.
const LEAST_OF_MOST: f64 = 0.1;

/// The call sites where threads poll that the finding names, with their indices: most time first.
fn where_most_is_lost<'a>(
    sites: impl Iterator<Item = (usize, &'a Site)> + Clone,
) -> Vec<(usize, &'a Site)> {
    let most = sites.clone().map(|(_, site)| site.figures.lost()).fold(0.0, f64::max);
    let named = |(_, site): &(usize, &Site)| site.figures.lost() >= LEAST_OF_MOST * most;
    let mut named: Vec<_> = sites.filter(named).collect();
    named.sort_by(|(_, a), (_, b)| descending(a.figures.lost(), b.figures.lost()));
    named
}

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
    ];
    rules.iter().flat_map(|rule| rule(process, thresholds)).collect()
}
