//! Load imbalance: some threads have much to do while others wait for them (SyncPerf, sections
//! 2.1.5 and 4.4.5). Groups are threads with the same start function and of the same pool
//! ([`crew`]). Either the groups have the wrong numbers of threads, as the stages of a pipeline
//! ([`groups`]), or the threads of one group have unequal shares ([`threads`]). Or one thread works
//! while all others wait ([`stage`]). Or a pool gets one piece of work at a time ([`lock_step`]). Or
//! requests wait for a server whose threads all sleep ([`unread`]).

mod assignment;
mod crew;
mod groups;
mod lock_step;
mod stage;
mod threads;
mod unread;

use crate::model::{Finding, Process};
use crate::options::Thresholds;

/// A shorter run, in seconds, says nothing: threads start at different times, so their shares are
/// always unequal at first.
const SHORTEST_RUN: f64 = 0.1;

/// The findings about unequal groups, groups of unequal threads, serial stages, pools in lock step,
/// and unread requests.
pub fn find(process: &Process, _: &Thresholds) -> Vec<Finding> {
    if process.seconds < SHORTEST_RUN {
        return Vec::new();
    }
    let crews = crew::crews(process);
    let unequal = crews.iter().filter_map(|crew| threads::unequal(process, crew));
    let others = [stage::serial(process), lock_step::in_lock_step(process), unread::find(process)];
    groups::unequal(process, &crews)
        .into_iter()
        .chain(unequal)
        .chain(others.into_iter().flatten())
        .collect()
}
