//! Many tiny sections in one function: a lock is taken, released and taken again for work that one
//! section could do (SyncPerf, Table 1, row 7).
//!
//! The recording then has several call sites in one function that take the same locks equally often
//! and hold them for a moment each time.

use crate::findings::evidence::{count, rate, seconds, share};
use crate::findings::family::{COST_FLOOR, Family, UNSURE_COST_FLOOR};
use crate::held::mean_held;
use crate::model::{Finding, Nesting, Process, Remedy, Rule, Section};
use crate::options::Thresholds;

/// Up to this mean time held, the acquisition takes at least as long as the section.
const TINY: f64 = 100e-9;
/// Sections that are entered together are entered equally often, up to a difference of this share.
const EQUALLY: f64 = 0.1;
/// At least this share of a lock's acquisitions must be in these sections.
const MOST: f64 = 0.5;

/// The findings about functions with many tiny sections.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    Family::all(process)
        .iter()
        .filter(|family| family.calls_per_second() > thresholds.acquisitions_per_second)
        .filter(|family| family.contention() <= thresholds.contention)
        .filter(|family| family.cost() >= COST_FLOOR)
        .filter_map(|family| finding(process, family, &together(process, family)))
        .collect()
}

/// The sites in one function that take all locks of the family about equally often, those with most
/// calls first. Empty if some of their sections may lie within others.
fn together(process: &Process, family: &Family) -> Vec<usize> {
    let main = family.main_site();
    let function = |site: usize| process.function_of(&process.sites[site]);
    let equally = |site: usize| {
        let (calls, most) = (process.sites[site].figures.calls as f64, main.figures.calls as f64);
        calls >= (1.0 - EQUALLY) * most
    };
    let alike = |&site: &usize| {
        let here = function(site);
        here.is_some() && here == function(family.sites[0])
    };
    let same_locks = |&site: &usize| process.sites[site].locks == family.locks.len();
    let sites = family.sites.iter().copied().filter(alike).filter(same_locks);
    let sites: Vec<usize> = sites.filter(|&site| equally(site)).collect();
    if one_within_another(process, &sites) { Vec::new() } else { sites }
}

/// Whether some of the sections may lie within others, and so be on different locks: because a
/// section calls functions, or because nesting was recorded.
fn one_within_another(process: &Process, sites: &[usize]) -> bool {
    let calls = |section: &Section| !section.calls.is_empty();
    let within = |site: usize| sites.contains(&site);
    let held = |nesting: &Nesting| nesting.outer.is_some_and(|o| o.site.is_some_and(within));
    sites.iter().any(|&site| process.sites[site].section.as_ref().is_some_and(calls))
        || process.nesting.iter().any(|nesting| within(nesting.site) && held(nesting))
}

fn finding(process: &Process, family: &Family, sites: &[usize]) -> Option<Finding> {
    let figures = || sites.iter().map(|&site| &process.sites[site].figures);
    let calls: u64 = figures().map(|figures| figures.calls).sum();
    let held = mean_held(figures().map(|figures| figures.held).sum(), calls);
    let of_calls = calls as f64 / family.calls().max(1) as f64;
    let known = sites.iter().all(|&site| process.sites[site].section.is_some());
    let floor = if known { COST_FLOOR } else { UNSURE_COST_FLOOR };
    let applies =
        sites.len() > 1 && held <= TINY && of_calls >= MOST && family.cost() * of_calls >= floor;
    // One section replaces all of these.
    let saved = (sites.len() - usize::from(!sites.is_empty())) as f64 / sites.len().max(1) as f64;
    applies.then(|| Finding {
        rule: Rule::ManyTinySections,
        title: "A function takes the same lock again and again for a few instructions".to_owned(),
        place: process.sites[sites[0]].place.clone(),
        sites: sites.to_vec(),
        locks: family.few_locks(),
        evidence: vec![
            rate("acquisitions", figures().map(|figures| figures.calls_per_second).sum()),
            count("sections in the function", sites.len() as u64),
            share("contention", family.contention()),
            seconds("mean time held (estimate)", held),
            share("time in the calls themselves (estimate)", family.cost() * of_calls),
        ],
        advice:
            "Merge these sections into one: take the lock once for all of them, and release it \
                 at the end."
                .to_owned(),
        open_question: None,
        remedy: Remedy::CheaperCalls {
            sites: sites.to_vec(),
            seconds_per_call: saved * family.likely_pair(),
            waits_left: 1.0,
        },
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use super::*;
    use crate::findings::testing::{Drawn, Use, process, sections};

    /// A function with two sections, entered `first` and `second` times in a second, held for
    /// `held` seconds each time.
    fn two_sections(first: u64, second: u64, held: f64) -> Drawn {
        let mut drawn = process(10.0, 4);
        drawn.threads("worker", 4, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "statistics");
        for (place, calls) in [("note at stats.c:10", first), ("note at stats.c:15", second)] {
            let site = drawn.site(Op::MutexLock, place);
            let calls = 10 * calls;
            drawn.uses(lock, site, Use { calls, held: calls as f64 * held, ..Use::default() });
        }
        drawn
    }

    fn found(drawn: &Drawn) -> Vec<Finding> {
        find(drawn, &Thresholds::default())
    }

    #[test]
    fn two_sections_entered_together_are_one_finding() {
        let findings = found(&two_sections(100_000, 100_000, 60e-9));
        assert_eq!((findings[0].sites.clone(), findings.len()), (vec![0, 1], 1));
    }

    #[test]
    fn long_unequal_or_separate_sections_have_no_finding() {
        assert!(found(&two_sections(100_000, 100_000, 140e-9)).is_empty());
        assert!(found(&two_sections(100_000, 89_000, 60e-9)).is_empty());
        assert!(found(&two_sections(49_000, 49_000, 60e-9)).is_empty(), "below the floor");
        let mut drawn = two_sections(100_000, 100_000, 60e-9);
        let frame = drawn.sites[1].frame.expect("a place");
        drawn.frames[frame].function = "print".to_owned();
        assert!(found(&drawn).is_empty());
    }

    #[test]
    fn nested_sections_have_no_finding() {
        let mut drawn = two_sections(100_000, 100_000, 60e-9);
        drawn.nested(0, 1, None, 100);
        assert_eq!(found(&drawn).len(), 1);
        let mut by_nesting = two_sections(100_000, 100_000, 60e-9);
        by_nesting.nested(0, 1, Some((0, 0)), 100);
        assert!(found(&by_nesting).is_empty());
        drawn.section(0, sections::calling(&["pthread_mutex_lock", "pthread_mutex_unlock"]));
        assert!(found(&drawn).is_empty());
    }

    #[test]
    fn sections_on_other_locks_can_not_become_one() {
        let mut drawn = two_sections(100_000, 100_000, 60e-9);
        let other = drawn.lock(Primitive::Mutex, "other");
        drawn.uses(other, 1, Use { calls: 1_000_000, ..Use::default() });
        assert!(found(&drawn).is_empty());
    }
}
