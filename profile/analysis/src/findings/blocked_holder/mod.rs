//! Holders that do not run while others wait for them. Then it matters less what a section does
//! than what happens to the thread in it, or on the way into it: it sleeps ([`sleeping`], and
//! [`turns`] for locks that are not the C library's), it is preempted ([`preempted`]), or it has
//! yet to be woken ([`convoy`]).

mod convoy;
pub mod preempted;
mod sleeping;
mod turns;

use syncline_recording::Class;

use crate::findings::family::few;
use crate::model::{Finding, Kind, Lock, Process, Remedy, Rule, Site};
use crate::options::Thresholds;

/// If the holder had no processor for at least this share of the time held, that makes the section
/// long.
const OFF_CPU: f64 = 0.3;
/// Fewer sleeps or preemptions may be random, such as a page that is read from disk for the first
/// time.
const FEWEST_SWITCHES: u64 = 3;
/// About the shortest preemption: the time slice of a busy Linux is 0.75 to 3 ms.
const TIME_SLICE: f64 = 500e-6;

/// Holders that do not run.
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

/// The seconds that other threads waited for a lock that had been taken at a site, and the number
/// of waits.
fn behind(process: &Process, holder: usize) -> (f64, u64) {
    let blockers = process.locks.iter().flat_map(|lock| &lock.blockers);
    let here = blockers.filter(|blocker| blocker.holder == Some(holder));
    here.fold((0.0, 0), |(waited, waits), b| (waited + b.waited, waits + b.waits))
}

fn draft(process: &Process, site: usize, rule: Rule) -> Finding {
    let used_here = |lock: &Lock| lock.sites.iter().any(|used| used.site == site);
    let locks = (0..process.locks.len()).filter(|&lock| used_here(&process.locks[lock]));
    Finding {
        rule,
        title: String::new(),
        place: process.sites[site].place.clone(),
        sites: vec![site],
        locks: few(&locks.collect::<Vec<_>>()),
        evidence: Vec::new(),
        advice: String::new(),
        open_question: None,
        remedy: Remedy::Unknown,
        gain: None,
    }
}

#[cfg(test)]
mod testing {
    use syncline_recording::Op;

    use super::find;
    use crate::findings::testing::{Drawn, Use, process};
    use crate::model::{HolderTime, Rule};
    use crate::options::Thresholds;

    /// Four threads that took a lock 10,000 times in ten seconds.
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
