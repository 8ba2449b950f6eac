//! A hot lock that is a global variable, on a cache line with unrelated variables. Each time the
//! lock is taken, threads that only read these variables lose the line.
//!
//! The data that a lock protects may well lie next to it: the next thread that takes the lock needs
//! that line as well. So a neighbour counts only if no section of the lock touches it, as far as
//! the sections' instructions say. If these can't be read, or call functions, the rule does not
//! apply. The recording does not say which threads use the neighbours, so the finding asks.

use syncline_recording::Class;

use crate::findings::evidence::{ask_hardware, count, rate, share};
use crate::findings::false_sharing::fetching::{FETCH, FLOOR};
use crate::model::{Finding, Kind, Lock, Process, Remedy, Rule};
use crate::options::Thresholds;

/// The largest share of a lock's uses that may find it taken. Above it, waiting for the lock costs
/// more than its line.
const CONTENTION: f64 = 0.1;

/// The findings about hot locks next to other data.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let locks = process.locks.iter().enumerate();
    let hot = locks.filter(|(_, lock)| {
        let Lock { figures, kind, .. } = lock;
        *kind == Kind::Lock
            && figures.calls_per_second > thresholds.acquisitions_per_second
            && figures.calls_per_second * FETCH >= FLOOR
            && figures.contention <= CONTENTION
    });
    hot.filter_map(|(number, _)| finding(process, number)).collect()
}

fn finding(process: &Process, number: usize) -> Option<Finding> {
    let lock = &process.locks[number];
    let takes = lock.sites.iter().filter(|u| matches!(u.op.class(), Class::Acquire | Class::Try));
    let mut sites: Vec<usize> = takes.map(|used| used.site).collect();
    sites.sort_by_key(|&site| (u64::MAX - process.sites[site].figures.calls, site));
    let mut strangers = lock.beside.clone();
    for &site in &sites {
        let section = process.sites[site].section.as_ref().filter(|section| section.complete)?;
        if !section.calls.is_empty() {
            return None;
        }
        strangers.retain(|name| !section.variables.contains(name));
    }
    strangers.retain(|name| !is_synchronization(process, name));
    let cost = lock.figures.calls_per_second * FETCH;
    (!strangers.is_empty()).then(|| Finding {
        rule: Rule::LockBesideData,
        title: format!("A hot lock lies on a cache line with {}", strangers.join(", ")),
        place: process.sites[sites[0]].place.clone(),
        locks: vec![number],
        evidence: vec![
            rate("acquisitions", lock.figures.calls_per_second),
            count(
                "other variables on its line that its sections do not touch",
                strangers.len() as u64,
            ),
            share(
                "time to fetch the line for each acquisition, as a share of the run (estimate)",
                cost,
            ),
        ],
        advice: "Give the lock a cache line of its own, or two, since processors fetch them in \
                 pairs: alignas(128), best together with the data that it protects."
            .to_owned(),
        open_question: ask_hardware(&format!(
            "Do other threads use {} at the same time?",
            strangers.join(", ")
        )),
        remedy: Remedy::CheaperCalls {
            sites: sites.clone(),
            seconds_per_call: FETCH,
            waits_left: 1.0,
        },
        sites,
        gain: None,
    })
}

/// Whether a variable is itself a lock, or another object that threads wait for.
fn is_synchronization(process: &Process, variable: &str) -> bool {
    let name = |lock: &Lock| lock.name.split([' ', '+']).next() == Some(variable);
    process.locks.iter().any(name)
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use super::*;
    use crate::findings::false_sharing::find;
    use crate::findings::testing::{Use, process, sections};
    use crate::model::Section;

    /// The findings for a lock that was taken `calls` times in ten seconds, next to these
    /// variables, by sections that touch `bins`.
    fn lock(calls: u64, waits: u64, beside: &[&str]) -> Vec<Finding> {
        let mut drawn = process(10.0, 4);
        drawn.threads("run", 2, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "count_lock (program)");
        drawn.lock(Primitive::Mutex, "other_lock (program)");
        drawn.locks[lock].beside = beside.iter().map(|&name| name.to_owned()).collect();
        let site = drawn.site(Op::MutexLock, "count at table.c:36");
        drawn.uses(lock, site, Use { calls, waits, ..Use::default() });
        let variables = vec!["bins".to_owned()];
        drawn.section(site, Section { variables, ..sections::few_words() });
        find(&drawn, &Thresholds::default())
    }

    #[test]
    fn a_hot_lock_beside_unrelated_data_is_found() {
        let findings = lock(10_000_000, 0, &["bins", "table", "table_size"]);
        assert_eq!(findings[0].place, "count at table.c:36");
        assert!(findings[0].title.ends_with("table, table_size"));
    }

    #[test]
    fn protected_data_and_other_locks_may_share_the_line() {
        assert!(lock(10_000_000, 0, &["bins", "other_lock"]).is_empty());
    }

    #[test]
    fn quiet_and_contended_locks_have_no_finding() {
        assert_eq!(lock(3_400_000, 0, &["table"]).len(), 1);
        assert!(lock(3_300_000, 0, &["table"]).is_empty(), "1.98 % of the run");
        assert!(lock(10_000_000, 1_100_000, &["table"]).is_empty());
    }
}
