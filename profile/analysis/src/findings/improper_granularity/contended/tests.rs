//! Tests of typical contended locks, and of locks just above and just below each threshold.

use syncline_recording::{Op, Primitive};

use super::*;
use crate::findings::testing::{Drawn, Use, one_word, process, sections};
use crate::model::{Data, HolderTime, Inspected};

/// A lock that is taken `calls` times in ten seconds, `waits` times after a wait, with `waited`
/// seconds of waiting in all, and held for `held` seconds each time. Also returns the lock's call
/// site.
fn lock(calls: u64, waits: u64, waited: f64, held: f64) -> (Drawn, usize) {
    let mut drawn = process(10.0, 16);
    drawn.threads("worker", 4, 10.0);
    let lock = drawn.lock(Primitive::Mutex, "cache_lock");
    let site = drawn.site(Op::MutexLock, "item_get at thread.c:400");
    let held = calls as f64 * held;
    drawn.uses(lock, site, Use { calls, waits, waited, held, ..Use::default() });
    (drawn, site)
}

fn rules(drawn: &Drawn) -> Vec<Rule> {
    find(drawn, &Thresholds::default()).into_iter().map(|finding| finding.rule).collect()
}

fn contended(rate: f64, contention: f64, held: f64) -> (Drawn, usize) {
    let calls = (10.0 * rate) as u64;
    lock(calls, (calls as f64 * contention) as u64, 2.0, held)
}

#[test]
fn one_lock_over_a_table_is_too_much_data() {
    for (rate, contention) in [(71_405.0, 0.458), (146_299.0, 0.385)] {
        let (mut drawn, site) = contended(rate, contention, 0.8e-6);
        assert_eq!(rules(&drawn), [Rule::TooMuchData]);
        drawn.section(site, sections::with_a_loop());
        assert_eq!(rules(&drawn), [Rule::TooMuchData]);
    }
}

#[test]
fn canneals_fifteen_sections_are_too_long() {
    let (mut drawn, site) = lock(15, 13, 0.5, 40e-3);
    drawn.seconds = 51.0;
    drawn.section(site, sections::calling(&["operator new(unsigned long)", "MTRand::MTRand"]));
    let findings = find(&drawn, &Thresholds::default());
    assert_eq!(findings[0].rule, Rule::TooLongSection);
    assert!(findings[0].advice.contains("operator new"), "{}", findings[0].advice);
}

/// Held for 45 of the 50 seconds that the threads work.
#[test]
fn work_in_a_section_is_done_by_a_holder_with_a_processor() {
    let says_nearly_all = |off_cpu: f64| {
        let (mut drawn, site) = lock(9_000, 8_000, 2.0, 5e-3);
        drawn.sites[site].figures.holder =
            HolderTime { looked_at: 300, seconds: 1.0, off_cpu, ..HolderTime::default() };
        let findings = find(&drawn, &Thresholds::default());
        assert_eq!(findings[0].rule, Rule::TooLongSection);
        findings[0].advice.contains("nearly all of their work")
    };
    assert!(says_nearly_all(0.1));
    assert!(!says_nearly_all(0.2), "0.9 of the work, 0.8 of that on a processor");
}

/// Modelled on nbdkit, whose idle threads wait for their turn to read a request.
#[test]
fn sections_that_last_longer_than_threads_work_have_no_work_to_move() {
    let found = |running, ready| {
        let (mut drawn, _) = lock(900, 800, 20.0, 10e-3);
        (drawn.times.running, drawn.times.ready) = (running, ready);
        rules(&drawn)
    };
    assert_eq!(found(4.6, 0.0), [Rule::TooLongSection]);
    assert!(found(4.4, 0.0).is_empty(), "held for 9 seconds");
    assert_eq!(found(2.3, 2.3), [Rule::TooLongSection], "on a busy machine");
}

#[test]
fn calls_in_a_section_lower_the_limit_for_long() {
    let (mut drawn, site) = contended(70_000.0, 0.25, 2e-6);
    drawn.section(site, sections::calling(&["find_item"]));
    assert_eq!(rules(&drawn), [Rule::TooMuchData]);
    drawn.section(site, sections::calling(&["__snprintf_chk@plt"]));
    assert_eq!(rules(&drawn), [Rule::TooLongSection]);
    drawn.sites[site].section = None;
    assert_eq!(rules(&drawn), [Rule::TooMuchData]);
}

#[test]
fn contention_waiting_and_wait_count_each_have_a_floor() {
    assert_eq!(rules(&lock(100_000, 10_100, 0.051, 1e-6).0), [Rule::TooMuchData]);
    assert!(rules(&lock(100_000, 10_000, 0.051, 1e-6).0).is_empty(), "10 % is not above it");
    assert!(rules(&lock(100_000, 10_100, 0.049, 1e-6).0).is_empty(), "0.49 % of the run");
    assert!(rules(&lock(15, 9, 0.5, 1e-3).0).is_empty(), "nine waits may be chance");
}

#[test]
fn on_a_busy_machine_long_holds_show_a_rarely_contended_lock() {
    // Five threads work for 50 seconds, and are in the section for `seconds` of these.
    let held = |seconds: f64| lock(1_000_000, 1_000, 4.0, seconds / 1e6 + 10e-9);
    assert_eq!(rules(&held(13.0).0), [Rule::TooLongSection]);
    assert!(rules(&held(11.0).0).is_empty(), "1.1 of them at once");
}

/// RocksDB's cache of one shard: four threads read, and others wait for work to do in the
/// background.
#[test]
fn only_threads_that_use_the_lock_count() {
    let found_of = |waits, waited, held| {
        let (mut drawn, _) = lock(32_000_000, waits, waited, held);
        drawn.threads("flush", 12, 10.0);
        // The first thread created the cache.
        drawn.locks[0].threads =
            vec![(0, 10), (1, 800_000), (2, 800_000), (3, 800_000), (4, 800_000)];
        rules(&drawn)
    };
    let found = |waited, held| found_of(1_470_000, waited, held);
    assert_eq!(found(8.1, 200e-9), [Rule::TooMuchData]);
    assert!(found(7.9, 200e-9).is_empty());
    assert!(found(8.1, 120e-9).is_empty(), "few would be in it at once");
    // A mean wait of a time slice, but for rounding.
    let slices = (8.1 / TIME_SLICE) as u64;
    assert_eq!(found_of(slices + 2, 8.1, 200e-9), [Rule::TooMuchData]);
    assert!(found_of(slices - 2, 8.1, 200e-9).is_empty(), "holders had lost their processor");
}

#[test]
fn a_section_on_one_word_can_be_shortened_but_not_split() {
    let (mut drawn, site) = contended(100_000.0, 0.4, 1.1e-6);
    drawn.section(site, one_word());
    assert!(rules(&drawn).is_empty(), "another rule's");
    drawn.section(site, Section { loops: true, ..one_word() });
    assert_eq!(rules(&drawn), [Rule::TooLongSection]);
    drawn.section(site, Section { words: Some(2), ..one_word() });
    assert!(rules(&drawn).is_empty());
}

/// A lock for which threads wait seldom but long. Its section is short, although it has a loop.
#[test]
fn a_section_of_less_than_a_microsecond_is_not_long() {
    let found = |held: f64| {
        let (mut drawn, site) = lock(10_000_000, 5_000, 25.0, held);
        drawn.section(site, Section { loops: true, ..one_word() });
        find(&drawn, &Thresholds::default())
    };
    assert!(found(69e-9).is_empty());
    assert!(found(1.005e-6).is_empty(), "but for the clock");
    let long = found(1.015e-6);
    assert_eq!(long[0].rule, Rule::TooLongSection);
    let shown: Vec<&str> = long[0].evidence[..4].iter().map(|fact| fact.what.as_str()).collect();
    assert!(shown.contains(&"mean time held (estimate)"), "{shown:?}");
    assert!(shown.contains(&"time waited"), "{shown:?}");
}

#[test]
fn one_hot_lock_among_quiet_ones_is_found_alone() {
    let (mut drawn, site) = contended(70_000.0, 0.4, 1e-6);
    for lock in drawn.locks_created(Primitive::Mutex, 100, "init at table.c:1") {
        drawn.uses(lock, site, Use { calls: 100_000, ..Use::default() });
    }
    let findings = find(&drawn, &Thresholds::default());
    assert_eq!(findings[0].locks, [0]);
}

/// The result of tracing 1,000 sections.
fn traced(data: Data) -> Inspected {
    Inspected { sections: 1_000, writing: 1_000, threads: 4, data, ..Inspected::default() }
}

#[test]
fn a_trace_tells_too_much_data_from_too_long_a_section() {
    let (mut drawn, site) = contended(70_000.0, 0.4, 20e-6);
    assert_eq!(rules(&drawn), [Rule::TooLongSection], "by its time held alone");
    let pieces = Inspected { pieces: 512, ..traced(Data::Pieces) };
    drawn.inspected(site, pieces.clone());
    let found = find(&drawn, &Thresholds::default()).remove(0);
    assert_eq!(found.rule, Rule::TooMuchData);
    assert!(
        found.advice.contains("512 independent pieces") && found.open_question.is_none(),
        "{found:?}"
    );
    let field = Data::OneField { field: "count".to_owned(), independent_without: 0.9 };
    drawn.inspected(site, traced(field.clone()));
    let found = find(&drawn, &Thresholds::default()).remove(0);
    assert_eq!(found.rule, Rule::TooMuchData);
    assert!(found.advice.contains("Split count off"), "{}", found.advice);
    assert!(matches!(found.remedy, Remedy::SplitLock { parts, .. } if (parts - 10.0).abs() < 1e-9));

    let (mut drawn, site) = contended(70_000.0, 0.4, 0.5e-6);
    assert_eq!(rules(&drawn), [Rule::TooMuchData], "by its time held alone");
    let lines = vec!["random.c:5".to_owned()];
    let long = Inspected { too_long: true, unshared: 0.95, unshared_lines: lines, ..traced(field) };
    drawn.inspected(site, long);
    let found = find(&drawn, &Thresholds::default()).remove(0);
    assert_eq!(found.rule, Rule::TooLongSection);
    assert!(found.advice.contains("random.c:5"), "{}", found.advice);
    assert!(matches!(found.remedy, Remedy::ShortenSections { to, .. } if (to - 0.05).abs() < 1e-9));
    // In a small sample of a large table, each entry seems to be used by one thread only.
    drawn.inspected(site, Inspected { too_long: true, unshared: 0.95, ..pieces });
    assert_eq!(rules(&drawn), [Rule::TooMuchData]);
}

#[test]
fn sections_that_depend_on_each_other_have_no_finding_unless_they_are_long() {
    let (mut drawn, site) = contended(70_000.0, 0.4, 0.5e-6);
    drawn.inspected(site, traced(Data::Unknown));
    assert_eq!(rules(&drawn), [Rule::TooMuchData], "as without a trace");
    drawn.inspected(site, traced(Data::Dependent));
    assert!(rules(&drawn).is_empty());
    let (mut drawn, site) = contended(70_000.0, 0.4, 20e-6);
    drawn.inspected(site, traced(Data::Dependent));
    assert_eq!(rules(&drawn), [Rule::TooLongSection]);
}
