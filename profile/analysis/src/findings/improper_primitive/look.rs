//! Locks most of whose sections only look at a word or two. In radiosity and volrend of Splash-3,
//! for example, a thread that has no work asks a queue for some again and again, and takes the
//! queue's lock each time. Reading an atomic word needs no lock.
//!
//! The rule applies to locks that are also taken by other sections, which probably change
//! something. If all sections touch one word, [`super::atomic_instead`] applies instead.

use crate::findings::evidence::{count, rate, share, times};
use crate::findings::family::{Family, UNSURE_COST_FLOOR};
use crate::model::{Finding, Process, Remedy, Rule, Section, Site};
use crate::options::Thresholds;
use syncline_code::section::takes_or_releases;

/// A section that only looks reads at most this many words, such as a queue's head and whether all
/// work is done.
const FEW_WORDS: usize = 3;
/// A section that only looks has at most this many instructions, on all paths together.
const FEW_INSTRUCTIONS: usize = 48;
/// With at least this many looks for each other section of the same locks, most looks find nothing
/// new.
pub const LOOKS: f64 = 4.0;

/// The findings about locks that are mostly taken by sections that only look.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let families = Family::all(process);
    families.iter().filter_map(|family| looked_under(process, family, thresholds)).collect()
}

fn looked_under(process: &Process, family: &Family, thresholds: &Thresholds) -> Option<Finding> {
    let site = |site: &usize| &process.sites[*site];
    let (looks, others): (Vec<usize>, Vec<usize>) =
        family.sites.iter().partition(|&number| is_look(site(number)));
    let calls = |sites: &[usize]| sites.iter().map(|s| site(s).figures.calls).sum::<u64>() as f64;
    let (looked, changed) = (calls(&looks), calls(&others));
    let per_second = looked / process.seconds;
    let applies = changed > 0.0
        && looked >= LOOKS * changed
        && per_second > thresholds.acquisitions_per_second
        && per_second * family.pair() >= UNSURE_COST_FLOOR;
    let main = site(looks.first().filter(|_| applies)?);
    let mut evidence = vec![
        rate("acquisitions that only read", per_second),
        times("such acquisitions per acquisition that changes something", looked / changed),
        share("contention", family.contention()),
        count("threads", main.threads as u64),
        share("time in the calls themselves (estimate)", per_second * family.pair()),
    ];
    if let Some(section) = &main.section {
        evidence.push(count("instructions of the section", section.instructions as u64));
    }
    Some(Finding {
        rule: Rule::LookUnderLock,
        title: "A lock is taken again and again only to read a word or two".to_owned(),
        place: main.place.clone(),
        locks: family.few_locks(),
        evidence,
        advice: "Read these words without the lock: make them atomic, and take the lock only when \
                 they show that there is something to do. A thread that polls because it has no \
                 work should sleep at a condition variable or a semaphore until there is work."
            .to_owned(),
        open_question: None,
        remedy: Remedy::CheaperCalls {
            sites: looks.clone(),
            seconds_per_call: family.likely_pair(),
            waits_left: 0.0,
        },
        sites: looks,
        gain: None,
    })
}

/// Whether the section's instructions are known, are few and without a loop, and only read a few
/// words. Calls that take or release locks are allowed.
pub fn is_look(site: &Site) -> bool {
    let looks = |section: &Section| {
        let changes = section.writes + section.atomics > 0 || section.loops;
        section.complete
            && section.reads > 0
            && !changes
            && section.words.is_some_and(|words| words <= FEW_WORDS)
            && section.instructions <= FEW_INSTRUCTIONS
            && section.calls.iter().all(|call| takes_or_releases(call))
    };
    site.section.as_ref().is_some_and(looks)
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use super::*;
    use crate::findings::testing::{Drawn, Use, one_word, process, sections};

    /// Four threads that look for work in a queue `looks` times, and take work from it `taken`
    /// times. Also returns the call site of the looks.
    fn queue(looks: u64, taken: u64) -> (Drawn, usize) {
        let mut drawn = process(10.0, 4);
        drawn.threads("worker", 4, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "q_lock");
        let look = drawn.site(Op::MutexLock, "peek at queue.c:10");
        drawn.uses(lock, look, Use { calls: looks, ..Use::default() });
        drawn.section(look, Section { writes: 0, words: Some(2), ..one_word() });
        let take = drawn.site(Op::MutexLock, "take at queue.c:30");
        drawn.uses(lock, take, Use { calls: taken, ..Use::default() });
        drawn.section(take, sections::few_words());
        (drawn, look)
    }

    fn places(drawn: &Drawn) -> Vec<String> {
        let found = find(drawn, &Thresholds::default());
        found.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn a_queue_that_is_mostly_polled_is_found() {
        assert_eq!(places(&queue(20_000_000, 1_000_000).0), ["peek at queue.c:10"]);
        assert!(places(&queue(20_000_000, 6_000_000).0).is_empty(), "three looks for each");
        assert!(places(&queue(900_000, 1_000).0).is_empty(), "0.9 % of the run");
        assert!(places(&queue(20_000_000, 0).0).is_empty(), "nobody changes anything");
    }

    #[test]
    fn a_section_that_does_more_than_look_has_no_finding() {
        let with = |section: Section| {
            let (mut drawn, look) = queue(20_000_000, 1_000_000);
            drawn.section(look, section);
            places(&drawn).len()
        };
        let look = || Section { writes: 0, words: Some(2), ..one_word() };
        let calling = |name: &str| Section { calls: vec![name.to_owned()], ..look() };
        assert_eq!(with(calling("pthread_mutex_lock")), 1);
        assert_eq!(with(calling("memcmp")), 0);
        assert_eq!(with(Section { words: Some(4), ..look() }), 0);
        assert_eq!(with(Section { loops: true, ..look() }), 0);
        assert_eq!(with(Section { complete: false, ..look() }), 0);
        assert_eq!(with(one_word()), 0, "it writes");
    }
}
