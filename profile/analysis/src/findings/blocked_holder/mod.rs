//! Holders that do not run while others wait for them. For such a lock, what a section does matters
//! less than what happens to the thread in it, or on the way into it. The thread sleeps
//! ([`sleeping`], and [`turns`] for locks that are not the C library's), is preempted
//! ([`preempted`]), or has yet to be woken ([`convoy`]).

mod convoy;
pub mod holder;
pub mod preempted;
mod sleeping;
mod turns;

use syncline_recording::Class;

use crate::model::{Finding, Kind, Process, Site};
use crate::options::Thresholds;

/// The findings about holders that do not run.
pub fn find(process: &Process, _: &Thresholds) -> Vec<Finding> {
    let sites = (0..process.sites.len()).filter(|&site| {
        let Site { op, kind, .. } = process.sites[site];
        kind == Kind::Lock && matches!(op.class(), Class::Acquire | Class::Try)
    });
    let rules = [sleeping::find, preempted::find, convoy::find];
    let locks = sites.flat_map(|site| rules.iter().filter_map(move |rule| rule(process, site)));
    let turns = (0..process.sites.len()).filter_map(|site| turns::find(process, site));
    locks.chain(turns).collect()
}

#[cfg(test)]
mod testing {
    use syncline_recording::Op;

    use super::find;
    use crate::findings::testing::{Drawn, Use, process};
    use crate::model::{HolderTime, Rule};
    use crate::options::Thresholds;

    /// Four threads that took a lock 10,000 times in ten seconds, `waits` times after a wait.
    pub fn taken(op: Op, waits: u64, waited: f64, held: f64) -> Drawn {
        let mut drawn = process(10.0, 2);
        drawn.threads("append", 4, 10.0);
        let lock = drawn.lock(op.primitive(), "journal");
        let site = drawn.site(op, "append at journal.c:29");
        drawn.sites[site].threads = 4;
        drawn.uses(lock, site, Use { calls: 10_000, waits, waited, held, ..Use::default() });
        drawn.blocked(lock, site, site, waits, waited);
        drawn
    }

    pub fn looked_at(mut drawn: Drawn, off_cpu: f64, slept: u64, preempted: u64) -> Drawn {
        drawn.sites[0].figures.holder =
            HolderTime { looked_at: 300, seconds: 1.0, off_cpu, slept, preempted };
        drawn
    }

    pub fn found(drawn: &Drawn) -> Vec<Rule> {
        find(drawn, &Thresholds::default()).into_iter().map(|finding| finding.rule).collect()
    }
}
