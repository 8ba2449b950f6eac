//! Sections that need no lock: either all their changes are atomic already, or they touch nothing
//! that other threads can reach (SyncPerf, Table 1, rows 8 and 9).
//!
//! The rule looks at the sections of all call sites that take the lock: at their instructions, or
//! at a trace of them.

use crate::findings::evidence::{ask_inspect, count, rate, seconds, share, traced};
use crate::findings::family::{COST_FLOOR, FEWEST_TAKEN, Family, WAITED_FLOOR};
use crate::findings::touches::Touches;
use crate::model::{Finding, Process, Remedy, Rule};
use crate::options::Thresholds;

/// Sites with a smaller share of the calls do not decide whether the lock is needed; the finding
/// asks about them.
const NEGLIGIBLE: f64 = 0.01;

/// The findings about families of locks whose sections need no lock.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    Family::all(process)
        .iter()
        .filter(|family| family.calls_per_second() > thresholds.acquisitions_per_second)
        .filter(|family| {
            let waits = family.found_taken() >= FEWEST_TAKEN;
            family.cost() >= COST_FLOOR || waits && family.waited_share() >= WAITED_FLOOR
        })
        .filter_map(|family| match Touches::of_all(process, &family.sites, NEGLIGIBLE)? {
            Touches::Nothing => Some(local_data(process, family)),
            Touches::Atomics => Some(already_atomic(process, family)),
            _ => None,
        })
        .collect()
}

fn local_data(process: &Process, family: &Family) -> Finding {
    // A function's instructions are proof. A trace only shows what threads shared while it was
    // recorded.
    let sure = Touches::read_of_all(process, &family.sites, NEGLIGIBLE) == Some(Touches::Nothing);
    let (title, why) = match sure {
        true => (
            "A lock around data that no other thread can reach",
            "the section touches the function's own variables only",
        ),
        false => (
            "A lock around data that no other thread was seen to touch",
            "no traced section touched what another thread touched. Make sure that none can",
        ),
    };
    Finding {
        rule: Rule::LocalDataOnly,
        title: title.to_owned(),
        advice: format!(
            "Remove the lock: {why}. If threads take it only to wait for its holder, use a \
             condition variable."
        ),
        ..common(process, family, Touches::Nothing)
    }
}

fn already_atomic(process: &Process, family: &Family) -> Finding {
    Finding {
        rule: Rule::AlreadyExclusive,
        title: "A lock around changes that are atomic already".to_owned(),
        advice: "Remove the lock: the section changes data only by atomic instructions. Make sure \
                 that nothing relies on two of these changes happening together."
            .to_owned(),
        ..common(process, family, Touches::Atomics)
    }
}

fn common(process: &Process, family: &Family, touches: Touches) -> Finding {
    let site = family.main_site();
    let mut evidence = vec![
        rate("acquisitions", family.calls_per_second()),
        share("contention", family.contention()),
        seconds("time waited", family.waited()),
    ];
    if let Some(section) = &site.section {
        evidence.push(count("instructions of the section", section.instructions as u64));
        evidence.push(count("atomic instructions of the section", section.atomics as u64));
    }
    evidence.extend(site.inspected.as_ref().map_or_else(Vec::new, traced));
    evidence.push(count("locks", family.locks.len() as u64));
    evidence.push(share("time in the calls themselves (estimate)", family.cost()));
    let all = Touches::of_all(process, &family.sites, 0.0);
    Finding {
        rule: Rule::LocalDataOnly,
        title: String::new(),
        place: site.place.clone(),
        sites: family.sites.clone(),
        locks: family.few_locks(),
        evidence,
        advice: String::new(),
        open_question: if all.is_some_and(|all| all <= touches) {
            None
        } else {
            ask_inspect(
                "Do the other sections of these locks, which are rarely entered, exclude this one?",
            )
        },
        remedy: Remedy::RemoveLock {
            sites: family.sites.clone(),
            seconds_per_call: family.likely_pair(),
        },
        gain: None,
    }
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use super::*;
    use crate::findings::testing::{Drawn, Use, one_word, process, sections};
    use crate::model::{Data, Inspected, Section};

    /// A process with one lock, which is taken `calls_per_second` times a second around `section`.
    /// Also returns the lock's call site.
    fn lock(calls_per_second: u64, section: Section) -> (Drawn, usize) {
        let mut drawn = process(10.0, 4);
        drawn.threads("worker", 4, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "item_lock");
        let site = drawn.site(Op::MutexLock, "item_remove at thread.c:520");
        drawn.uses(lock, site, Use { calls: 10 * calls_per_second, ..Use::default() });
        drawn.section(site, section);
        (drawn, site)
    }

    fn rules(drawn: &Drawn) -> Vec<Rule> {
        find(drawn, &Thresholds::default()).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn memcacheds_item_remove_is_atomic_already() {
        assert_eq!(rules(&lock(65_445, sections::atomics_only()).0), [Rule::AlreadyExclusive]);
        let freeing = Section { calls: vec!["free".to_owned()], ..sections::atomics_only() };
        assert_eq!(rules(&lock(65_445, freeing).0), [Rule::AlreadyExclusive]);
    }

    #[test]
    fn a_section_on_its_own_variables_needs_no_lock() {
        assert_eq!(rules(&lock(65_445, sections::nothing()).0), [Rule::LocalDataOnly]);
        let loops = Section { loops: true, ..sections::nothing() };
        assert_eq!(rules(&lock(65_445, loops).0), [Rule::LocalDataOnly]);
    }

    #[test]
    fn rare_and_writing_sections_have_no_finding() {
        assert!(rules(&lock(9_900, sections::atomics_only()).0).is_empty());
        assert!(rules(&lock(9_900, sections::nothing()).0).is_empty());
        assert!(rules(&lock(65_445, one_word()).0).is_empty());
        let also_plain = Section { writes: 1, ..sections::atomics_only() };
        assert!(rules(&lock(65_445, also_plain).0).is_empty());
        let calls = Section { calls: vec!["log".to_owned()], ..sections::nothing() };
        assert!(rules(&lock(65_445, calls).0).is_empty());
    }

    #[test]
    fn a_trace_decides_sections_that_reading_cannot() {
        let (mut drawn, site) = lock(65_445, sections::calling(&["format"]));
        assert!(rules(&drawn).is_empty());
        let traced = |data| Inspected { sections: 500, data, ..Inspected::default() };
        drawn.inspected(site, traced(Data::Atomic));
        assert_eq!(rules(&drawn), [Rule::AlreadyExclusive]);
        drawn.inspected(site, traced(Data::Dependent));
        assert!(rules(&drawn).is_empty());
        drawn.inspected(site, traced(Data::Local));
        let found = find(&drawn, &Thresholds::default()).remove(0);
        assert_eq!(found.rule, Rule::LocalDataOnly);
        assert!(found.advice.contains("no traced section"), "{}", found.advice);
        assert!(
            found.evidence.iter().any(|e| e.what == "sections traced here" && e.value == 500.0)
        );
        drawn.section(site, sections::nothing());
        let found = find(&drawn, &Thresholds::default()).remove(0);
        assert!(found.advice.contains("own variables only"), "surer: {}", found.advice);
    }

    #[test]
    fn the_advice_is_certain_only_if_all_sections_were_read() {
        let (mut drawn, _) = lock(65_445, sections::nothing());
        let other = drawn.site(Op::MutexLock, "item_link at thread.c:600");
        drawn.uses(0, other, Use { calls: 70_000, ..Use::default() });
        drawn.inspected(other, Inspected { sections: 500, data: Data::Local, ..<_>::default() });
        let found = find(&drawn, &Thresholds::default()).remove(0);
        assert!(found.advice.contains("no traced section"), "{}", found.advice);
        drawn.section(other, sections::nothing());
        let found = find(&drawn, &Thresholds::default()).remove(0);
        assert!(found.advice.contains("own variables only"), "{}", found.advice);
    }

    #[test]
    fn another_section_of_the_lock_may_need_it() {
        let (mut drawn, _) = lock(65_445, sections::atomics_only());
        let other = drawn.site(Op::MutexLock, "item_link at thread.c:600");
        drawn.uses(0, other, Use { calls: 1_000, ..Use::default() });
        drawn.section(other, sections::few_words());
        let findings = find(&drawn, &Thresholds::default());
        assert!(findings[0].open_question.is_some(), "0.15 % of the calls");
        drawn.uses(0, other, Use { calls: 7_000, ..Use::default() });
        assert!(rules(&drawn).is_empty(), "1.2 % of the calls");
    }
}
