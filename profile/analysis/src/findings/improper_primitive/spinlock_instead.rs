//! Short sections under a mutex that threads hardly ever wait for. A mutex has to handle sleepers,
//! and a spinlock does not; for short sections that are entered often, acquiring and releasing the
//! lock is most of the cost (SyncPerf, Table 1, row 2).
//!
//! Waiters of a spinlock keep their processors busy. So the rule does not apply to locks that are
//! contended, nor to mutexes that condition variables use.

use syncline_recording::Primitive;

use crate::findings::evidence::{ask_inspect, count, rate, seconds, share};
use crate::findings::family::{COST_FLOOR, Family, UNSURE_COST_FLOOR};
use crate::findings::touches::Touches;
use crate::model::{Finding, Process, Remedy, Rule};
use crate::options::Thresholds;

/// A section whose instructions were not read counts as short up to this mean time held: about as
/// long as the acquisition itself takes.
const SHORT: f64 = 100e-9;
/// Sites with a smaller share of the calls do not decide whether sections are short.
const NEGLIGIBLE: f64 = 0.01;
/// Seconds that the change saves for each acquisition and its release: the atomic instruction of
/// the release, and some branches.
const SAVED: f64 = 4e-9;

/// The findings about families of mutexes that could be spinlocks.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    Family::all(process)
        .iter()
        .filter(|family| family.calls_per_second() > thresholds.acquisitions_per_second)
        .filter(|family| family.contention() <= thresholds.contention)
        .filter(|family| {
            family.locks.iter().all(|&lock| process.locks[lock].primitive == Primitive::Mutex)
        })
        .filter(|family| !family.has_condition())
        .filter_map(|family| {
            let known = Touches::of_all(process, &family.sites, NEGLIGIBLE);
            let (short, floor) = match known {
                Some(touches) => (is_short(process, family, touches), COST_FLOOR),
                None => {
                    let short = family.mean_held() <= SHORT && !calls_others(process, family);
                    (short, UNSURE_COST_FLOOR)
                }
            };
            (short && family.cost() >= floor).then(|| finding(process, family, known.is_some()))
        })
        .collect()
}

fn is_short(process: &Process, family: &Family, touches: Touches) -> bool {
    let loops = family.sites.iter().filter_map(|&site| process.sites[site].section.as_ref());
    match touches {
        Touches::OneWord | Touches::FewWords => true,
        Touches::ReadsOnly => loops.clone().all(|s| !s.loops && s.calls.is_empty()),
        Touches::Nothing | Touches::Atomics | Touches::More => false,
    }
}

/// Whether a section of the family calls functions other than pthread's, as far as its instructions
/// were read.
fn calls_others(process: &Process, family: &Family) -> bool {
    let sections = family.sites.iter().filter_map(|&site| process.sites[site].section.as_ref());
    let mut calls = sections.flat_map(|section| &section.calls);
    calls.any(|call| !call.starts_with("pthread_"))
}

fn finding(process: &Process, family: &Family, known: bool) -> Finding {
    let site = family.main_site();
    let crowded = process.processors.is_some_and(|processors| family.threads() > processors);
    let mut evidence = vec![
        rate("acquisitions", family.calls_per_second()),
        share("contention", family.contention()),
        count("locks", family.locks.len() as u64),
        seconds("mean time held (estimate)", family.mean_held()),
        share("time in the calls themselves (estimate)", family.cost()),
    ];
    if let (true, Some(section)) = (known, &site.section) {
        evidence.insert(3, count("instructions of the section", section.instructions as u64));
    }
    let lock = if crowded {
        "Threads outnumber processors, so take one that sleeps after a while: Syncline's \
         `ttas-park` or `gate`."
    } else {
        "Syncline's `ttas-spin` fits, or `pthread_spinlock_t`."
    };
    Finding {
        rule: Rule::SpinlockInstead,
        title: "A mutex around a few instructions, taken very often and hardly ever contended"
            .to_owned(),
        place: site.place.clone(),
        sites: family.sites.clone(),
        locks: family.few_locks(),
        evidence,
        advice: format!(
            "Use a lighter lock for such short sections, or enter them less often. {lock}"
        ),
        open_question: if known {
            None
        } else {
            ask_inspect(
                "What does the section touch? For one word an atomic instruction is enough, and \
                 for the thread's own data no lock is needed.",
            )
        },
        remedy: Remedy::CheaperCalls {
            sites: family.sites.clone(),
            seconds_per_call: SAVED,
            waits_left: 1.0,
        },
        gain: None,
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Answer;
    use syncline_recording::Op;

    use super::*;
    use crate::findings::testing::{Drawn, Use, one_word, process, sections};
    use crate::model::Section;

    /// A lock with `calls_per_second` acquisitions, held for 50 ns each time. Also returns their
    /// call site.
    fn queue(calls_per_second: u64) -> (Drawn, usize) {
        let mut drawn = process(10.0, 8);
        drawn.threads("worker", 4, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "g_timer_skiplist_mtx");
        let site = drawn.site(Op::MutexLock, "process_timers at event.c:1592");
        let calls = 10 * calls_per_second;
        drawn.uses(lock, site, Use { calls, held: 50e-9 * calls as f64, ..Use::default() });
        (drawn, site)
    }

    fn found(drawn: &Drawn) -> Vec<Finding> {
        find(drawn, &Thresholds::default())
    }

    #[test]
    fn apache_and_memcached_are_found_once_their_sections_are_known() {
        for rate in [49_607, 117_000] {
            let (mut drawn, site) = queue(rate);
            drawn.section(site, sections::few_words());
            let findings = found(&drawn);
            assert_eq!(findings[0].place, "process_timers at event.c:1592");
            assert_eq!(findings[0].open_question, None);
        }
    }

    #[test]
    fn the_papers_false_alarms_have_no_finding() {
        for rate in [1_252, 1_916] {
            let (mut drawn, site) = queue(rate);
            drawn.section(site, sections::few_words());
            assert!(found(&drawn).is_empty(), "{rate} a second");
        }
    }

    #[test]
    fn an_unknown_section_must_be_busy_and_short_and_is_questioned() {
        assert!(found(&queue(99_000).0).is_empty());
        let findings = found(&queue(101_000).0);
        let question = findings[0].open_question.as_ref().expect("what it touches is not known");
        assert_eq!(question.command, Answer::Inspect(None));
        let (mut drawn, site) = queue(101_000);
        drawn.uses(0, site, Use { held: 1_010_000.0 * 90e-9, ..Use::default() });
        assert!(found(&drawn).is_empty(), "held for 110 ns");
    }

    #[test]
    fn an_incompletely_read_section_with_calls_is_not_short() {
        let (mut drawn, site) = queue(1_000_000);
        let read = Section { complete: false, ..sections::calling(&["pthread_mutex_unlock"]) };
        drawn.section(site, read);
        assert_eq!(found(&drawn).len(), 1);
        let read = Section { complete: false, ..sections::calling(&["memmove"]) };
        drawn.section(site, read);
        assert!(found(&drawn).is_empty());
    }

    #[test]
    fn contended_locks_stay_as_they_are() {
        let (mut drawn, site) = queue(1_000_000);
        drawn.section(site, sections::few_words());
        drawn.uses(0, site, Use { waits: 990_000, ..Use::default() });
        assert_eq!(found(&drawn).len(), 1, "9.9 %");
        drawn.uses(0, site, Use { waits: 20_000, ..Use::default() });
        assert!(found(&drawn).is_empty(), "10.1 %");
    }

    #[test]
    fn long_sections_spinlocks_and_mutexes_of_conditions_are_not_found() {
        let (mut drawn, site) = queue(1_000_000);
        drawn.section(site, sections::with_a_loop());
        assert!(found(&drawn).is_empty());
        drawn.section(site, one_word());
        assert_eq!(found(&drawn).len(), 1);
        drawn.locks[0].primitive = Primitive::Spinlock;
        assert!(found(&drawn).is_empty());
        drawn.locks[0].primitive = Primitive::Mutex;
        drawn.site(Op::CondWait, "process_timers at event.c:1600");
        assert!(found(&drawn).is_empty());
    }

    #[test]
    fn no_pure_spinlock_where_threads_outnumber_processors() {
        let (mut drawn, site) = queue(1_000_000);
        drawn.section(site, sections::few_words());
        assert!(found(&drawn)[0].advice.contains("pthread_spinlock_t"));
        drawn.processors = Some(2);
        assert!(!found(&drawn)[0].advice.contains("pthread_spinlock_t"));
    }
}
