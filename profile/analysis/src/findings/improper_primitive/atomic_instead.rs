//! Sections that only read one word, or read and change it. An atomic instruction does the same,
//! and no thread has to wait for it (SyncPerf, Table 1, row 1).
//!
//! The rule applies only if the instructions of the sections were read, or the sections were
//! traced: no counted figure distinguishes one word from two.

use crate::findings::evidence::{ask_inspect, count, rate, share, traced};
use crate::findings::family::{COST_FLOOR, FEWEST_TAKEN, Family, WAITED_FLOOR};
use crate::findings::improper_primitive::look::{LOOKS, is_look};
use crate::findings::touches::Touches;
use crate::model::{Finding, Process, Remedy, Rule};
use crate::options::Thresholds;

/// Sites that make less than this share of the calls do not decide what could replace the lock; the
/// finding asks about them.
const NEGLIGIBLE: f64 = 0.01;
/// The share of an acquisition and its release that the change saves: two atomic instructions and
/// two calls become one instruction.
const SAVED: f64 = 0.6;

/// The findings about families of locks that an atomic instruction could replace.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    Family::all(process)
        .iter()
        .filter(|family| family.calls_per_second() > thresholds.acquisitions_per_second)
        .filter(|family| worth_it(family))
        .filter(|family| one_word(process, family))
        .map(|family| finding(process, family))
        .collect()
}

/// Whether each section that is not rare touches only one word, or only looks. False if there are
/// at least [`LOOKS`] such looks for each other section: then the rule of [`super::look`] applies.
fn one_word(process: &Process, family: &Family) -> bool {
    let site = |site: &usize| &process.sites[*site];
    let (looks, others): (Vec<usize>, Vec<usize>) = family.sites.iter().partition(|&number| {
        is_look(site(number)) && Touches::of_site(site(number)) != Some(Touches::OneWord)
    });
    let calls = |sites: &[usize]| sites.iter().map(|s| site(s).figures.calls).sum::<u64>() as f64;
    let least = NEGLIGIBLE * calls(&family.sites) / calls(&others).max(1.0);
    calls(&looks) < LOOKS * calls(&others)
        && Touches::of_all(process, &others, least) == Some(Touches::OneWord)
}

fn worth_it(family: &Family) -> bool {
    let waits = family.found_taken() >= FEWEST_TAKEN && family.waited_share() >= WAITED_FLOOR;
    waits || family.cost() >= COST_FLOOR
}

fn finding(process: &Process, family: &Family) -> Finding {
    // The site that touches the word comes first, since most acquisitions may be at sites that only
    // look.
    let mut sites = family.sites.clone();
    sites.sort_by_key(|&site| Touches::of_site(&process.sites[site]) != Some(Touches::OneWord));
    let site = &process.sites[sites[0]];
    let mut evidence = vec![
        rate("acquisitions", family.calls_per_second()),
        share("contention", family.contention()),
        count("locks", family.locks.len() as u64),
    ];
    if let Some(section) = &site.section {
        evidence.push(count("instructions of the section", section.instructions as u64));
    }
    evidence.extend(site.inspected.as_ref().map_or_else(Vec::new, traced));
    evidence.push(share("time in the calls themselves (estimate)", family.cost()));
    let all = Touches::of_all(process, &family.sites, 0.0);
    let others = if all == Some(Touches::OneWord) {
        None
    } else {
        ask_inspect(
            "Do the other sections of these locks, which are rarely entered or change nothing, \
             need more than one word at a time?",
        )
    };
    Finding {
        rule: Rule::AtomicInstead,
        title: "A lock around a single word".to_owned(),
        place: site.place.clone(),
        sites,
        locks: family.few_locks(),
        evidence,
        advice: "Make the word atomic, and replace the section by one atomic instruction \
                 (fetch_add, exchange, or a compare-and-swap loop if the value is not an \
                 integer). Every other access to the word must become atomic as well."
            .to_owned(),
        open_question: others,
        remedy: Remedy::CheaperCalls {
            sites: family.sites.clone(),
            seconds_per_call: SAVED * family.likely_pair(),
            waits_left: 0.0,
        },
        gain: None,
    }
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use super::*;
    use crate::findings::testing::{Drawn, Use, one_word, process, sections};
    use crate::model::Section;

    /// A lock around a counter, with `calls_per_second` acquisitions. Also returns their call site.
    fn counter(calls_per_second: u64) -> (Drawn, usize) {
        let mut drawn = process(10.0, 4);
        drawn.threads("worker", 4, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "counter_lock");
        let site = drawn.site(Op::MutexLock, "add at counter.c:7");
        drawn.uses(lock, site, Use { calls: 10 * calls_per_second, ..Use::default() });
        drawn.section(site, one_word());
        (drawn, site)
    }

    fn found(drawn: &Drawn) -> Vec<Finding> {
        find(drawn, &Thresholds::default())
    }

    #[test]
    fn a_busy_counter_is_found_but_not_a_quiet_one() {
        let findings = found(&counter(15_857).0);
        assert_eq!(findings[0].place, "add at counter.c:7", "at x264's rate");
        assert_eq!(findings[0].open_question, None);
        assert!(found(&counter(9_900).0).is_empty(), "below the floor");
    }

    #[test]
    fn fluidanimate_is_found_at_its_line_though_each_lock_is_quiet() {
        let mut drawn = process(10.0, 16);
        drawn.threads("AdvanceFramesMT", 16, 10.0);
        let locks = drawn.locks_created(Primitive::Mutex, 9200, "Init at pthreads.cpp:300");
        let site = drawn.site(Op::MutexLock, "ComputeDensities at pthreads.cpp:650");
        for lock in locks {
            drawn.uses(lock, site, Use { calls: 48_000, ..Use::default() });
        }
        drawn.section(site, one_word());
        let findings = found(&drawn);
        assert_eq!(findings.len(), 1, "one problem, one finding");
        assert_eq!(findings[0].place, "ComputeDensities at pthreads.cpp:650");
        assert_eq!(findings[0].locks.len(), 5);
    }

    #[test]
    fn a_word_with_waits_is_found_at_any_cost_of_calls() {
        let (mut drawn, site) = counter(1_100);
        assert!(found(&drawn).is_empty());
        drawn.uses(0, site, Use { waits: 5_000, waited: 0.049, ..Use::default() });
        assert!(found(&drawn).is_empty(), "0.49 % of the run");
        drawn.uses(0, site, Use { waited: 0.002, ..Use::default() });
        assert_eq!(found(&drawn).len(), 1);
    }

    #[test]
    fn a_section_with_two_words_or_unknown_has_no_finding() {
        let (mut drawn, site) = counter(1_000_000);
        drawn.section(site, sections::few_words());
        assert!(found(&drawn).is_empty());
        drawn.sites[site].section = None;
        assert!(found(&drawn).is_empty());
    }

    /// Modelled on volrend's queues: a section draws a number, and a thread without work looks at
    /// two words.
    #[test]
    fn read_only_sections_question_the_finding_or_refute_it() {
        let (mut drawn, _) = counter(1_000_000);
        let look = drawn.site(Op::MutexLock, "steal at counter.c:20");
        drawn.uses(0, look, Use { calls: 30_000_000, ..Use::default() });
        drawn.section(look, Section { writes: 0, words: Some(2), ..one_word() });
        let findings = found(&drawn);
        assert_eq!(findings[0].place, "add at counter.c:7");
        assert!(findings[0].open_question.is_some());
        drawn.uses(0, look, Use { calls: 10_000_000, ..Use::default() });
        assert!(found(&drawn).is_empty(), "four looks for each");
    }

    #[test]
    fn another_section_of_the_lock_refutes_or_questions_the_finding() {
        let (mut drawn, _) = counter(1_000_000);
        let sum = drawn.site(Op::MutexLock, "sum at counter.c:20");
        drawn.uses(0, sum, Use { calls: 10, ..Use::default() });
        assert!(found(&drawn)[0].open_question.is_some(), "rare and unknown");
        drawn.uses(0, sum, Use { calls: 200_000, ..Use::default() });
        assert!(found(&drawn).is_empty(), "2 % of the calls, and unknown");
        drawn.section(sum, one_word());
        assert_eq!(found(&drawn)[0].open_question, None, "also one word");
    }
}
