//! Tests the report of locks for which threads waited long but of which too few sections were
//! traced.

use syncline_conflicts::{ENOUGH, Run};
use syncline_trace::Trace;
use syncline_trace::layout::CountRecord;

use crate::hand::{LOCK, Made, SITE, counted, facts_of, section, trace};

const SECOND: u64 = 1_000_000;

/// The counts of a lock at the call site `site`, as those of thread 1.
fn at(lock: u64, site: u64, acquisitions: u64, waited: u64) -> (u32, CountRecord) {
    (1, CountRecord { site, ..counted(lock, acquisitions, 1, waited, 0) })
}

fn with_sections(number: u64) -> Trace {
    let sections: Vec<Made> = (0..number).map(|n| section(1 + n as u32 % 2)).collect();
    trace(sections)
}

fn scarce_of(trace: &Trace) -> Vec<(u64, u64, u64)> {
    facts_of(trace).scarce.iter().map(|one| (one.lock, one.acquisitions, one.traced)).collect()
}

#[test]
fn the_three_most_waited_for_locks_need_200_sections_each() {
    let mut all = with_sections(ENOUGH - 1);
    all.counts = vec![
        at(LOCK, SITE, 5000, SECOND),
        at(1, SITE + 1, 10, SECOND / 2),
        at(2, SITE + 2, 300, SECOND / 4),
        at(3, SITE + 3, 1000, SECOND / 8),
    ];
    assert_eq!(scarce_of(&all), [(LOCK, 5000, ENOUGH - 1), (1, 10, 0), (2, 300, 0)]);
    let mut all = with_sections(ENOUGH);
    all.counts = vec![at(LOCK, SITE, 5000, SECOND)];
    assert_eq!(scarce_of(&all), []);
}

#[test]
fn locks_with_little_waiting_or_not_selected_are_skipped() {
    let mut all = with_sections(10);
    // Two threads ran for a second each, and waited for less than a thousandth of that.
    all.counts = vec![at(LOCK, SITE, 5000, SECOND / 1000), at(1, SITE + 1, 10, SECOND / 1000)];
    assert_eq!(scarce_of(&all), []);
    all.counts = vec![at(LOCK, SITE, 5000, SECOND / 8), at(1, SITE + 1, 10, SECOND)];
    assert_eq!(scarce_of(&all), [(1, 10, 0), (LOCK, 5000, 10)]);
    all.header.only_some = 1;
    assert_eq!(scarce_of(&all), [(LOCK, 5000, 10)]);
}

/// Some locks of a table have traced sections and some have none. All of them count as one lock.
#[test]
fn locks_of_one_call_site_are_one_family() {
    let mut all = with_sections(10);
    let table = (0..50).map(|n| at(0x5000 + 64 * n, SITE, 100, SECOND / 100));
    all.counts = table.chain([at(LOCK, SITE, 100, 0)]).collect();
    assert_eq!(scarce_of(&all), [(LOCK, 5100, 10)]);
}

#[test]
fn locks_of_unknown_call_sites_are_not_joined() {
    let mut all = with_sections(10);
    all.counts = vec![at(1, 0, 10, SECOND), at(2, 0, 20, SECOND / 2)];
    assert_eq!(scarce_of(&all), [(1, 10, 0), (2, 20, 0)]);
}

#[test]
fn needed_time_and_budget_are_proportional() {
    let mut all = with_sections(50);
    all.counts = vec![at(LOCK, SITE, 5000, SECOND)];
    let one = facts_of(&all).scarce[0];
    let run = Run { seconds: 3.0, processor: 4.0, budget: Some(0.10), counting: 0.04 };
    assert!((one.seconds(&run) - 12.0).abs() < 1e-9, "four times as many");
    let budget = one.budget(&run).expect("enough acquisitions");
    assert!((budget - (0.04 + 4.0 * 0.06)).abs() < 1e-9, "counting costs what it costs: {budget}");
    // If counting costs more than the budget, an eighth of the budget counts as remaining.
    let budget = one.budget(&Run { counting: 0.2, ..run }).expect("enough acquisitions");
    assert!((budget - (0.2 + 4.0 * 0.1 / 8.0)).abs() < 1e-9, "{budget}");
    // Without a budget, only a longer run helps.
    let run = Run { budget: None, ..run };
    assert_eq!((one.seconds(&run), one.budget(&run)), (12.0, None));
}

#[test]
fn too_few_acquisitions_need_a_longer_run_and_no_budget() {
    let mut all = with_sections(20);
    all.counts = vec![at(LOCK, SITE, 20, SECOND)];
    let one = facts_of(&all).scarce[0];
    let run = Run { seconds: 1.0, processor: 1.0, budget: Some(0.10), counting: 0.0 };
    assert_eq!((one.seconds(&run), one.budget(&run)), (10.0, None));
    // If hardly any section was traced, the estimate is the assumed cost of 200 sections divided by
    // the part of the budget that was spent on sections in this run of one second.
    let mut all = with_sections(1);
    all.counts = vec![at(LOCK, SITE, 10_000, SECOND)];
    let one = facts_of(&all).scarce[0];
    let run = Run { processor: 0.1, ..run };
    assert!((one.seconds(&run) - 200.0 * 100e-6 / (0.05 * 0.1)).abs() < 1e-9);
}
