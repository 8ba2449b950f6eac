//! Words that threads change by atomic instructions so often that this takes much of the processor
//! time: counters, reference counts, and locks that are taken without a call. If several threads
//! change one word, its cache line moves between their processors, and each change takes ten times
//! as long or longer. Samples show where the time goes, not which word is changed; so this may also
//! be words that each thread has for itself.

use syncline_recording::Op;

use crate::findings::evidence::{count, seconds, share};
use crate::model::{Atomics, Finding, Process, Remedy, Rule, Site};

/// The atomic instructions of one function, and its loops that only wait, must take at least this
/// share of the processor time.
const LEAST_SHARE: f64 = 0.1;
/// If the atomic instructions take less than this, in seconds, their time rests on about ten
/// samples.
const FLOOR: f64 = 0.05;
/// At least two threads must each have at least this share of the time at the function's atomic
/// instructions.
const PART: f64 = 0.1;

/// The findings about functions with atomic instructions, except those functions in which `others`
/// find a busy futex.
pub fn find(process: &Process, others: &[Finding]) -> Vec<Finding> {
    let said = |atomics: &Atomics| others.iter().any(|other| is_in(process, other, atomics));
    let busy = process.atomics.iter().filter(|atomics| is_busy(process, atomics));
    busy.filter(|atomics| !said(atomics)).map(|atomics| finding(process, atomics)).collect()
}

/// The share of the processor time that a function's atomic instructions and its loops that only
/// wait take: a thread that does not get a lock at once may spin before it sleeps.
pub fn share_of(process: &Process, atomics: &Atomics) -> f64 {
    let used = process.times.running + process.times.spinning;
    (atomics.seconds + spun(process, atomics)) / used.max(1e-12)
}

/// The seconds that threads spent in loops that only wait, in the function with these atomic
/// instructions.
fn spun(process: &Process, atomics: &Atomics) -> f64 {
    let here =
        |site: &&Site| site.op == Op::Spin && process.function_of(site) == Some(&atomics.function);
    process.sites.iter().filter(here).map(|site| site.figures.lost()).sum()
}

/// Whether a finding's first call site is in the function with these atomic instructions.
pub fn is_in(process: &Process, finding: &Finding, atomics: &Atomics) -> bool {
    let site = finding.sites.first().map(|&site| &process.sites[site]);
    site.and_then(|site| process.function_of(site)) == Some(&atomics.function)
}

fn is_busy(process: &Process, atomics: &Atomics) -> bool {
    let part = PART * atomics.seconds;
    let threads = atomics.threads.iter().filter(|&&(_, seconds)| seconds >= part).count();
    share_of(process, atomics) >= LEAST_SHARE && atomics.seconds >= FLOOR && threads >= 2
}

fn finding(process: &Process, atomics: &Atomics) -> Finding {
    Finding {
        rule: Rule::BusyAtomics,
        title: "Threads spend much of their time in atomic instructions".to_owned(),
        place: atomics.place.clone(),
        sites: Vec::new(),
        locks: Vec::new(),
        evidence: vec![
            share("share of the processor time", share_of(process, atomics)),
            seconds("processor time at the instructions", atomics.seconds),
            seconds("processor time in loops that wait there", spun(process, atomics)),
            count("threads", atomics.threads.len() as u64),
        ],
        advice: "If the threads change the same word, its cache line moves between their \
                 processors each time. A counter: let each thread count for itself, and add the \
                 counts up when they are read. A reference count: borrow the object instead of \
                 counting each use, or give each thread its own copy. A lock that is taken without \
                 a call: take it once for several pieces of work, or have one for each thread."
            .to_owned(),
        open_question: None,
        remedy: Remedy::Unknown,
        gain: None,
    }
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use crate::findings::busy_futex::find;
    use crate::findings::testing::{Drawn, Use, process};
    use crate::model::{Atomics, Rule};
    use crate::options::Thresholds;

    /// Two threads of ten seconds, which run for 16 seconds together. `seconds` has the time that
    /// each spends at the atomic instructions of `count`.
    fn counting(seconds: [f64; 2]) -> Drawn {
        let mut drawn = process(10.0, 2);
        let first = drawn.threads("serve", 2, 10.0);
        drawn.times.running = 16.0;
        let stack = drawn.stack("count at stats.c:12");
        drawn.atomics = vec![Atomics {
            function: "count".to_owned(),
            place: "count at stats.c:12".to_owned(),
            seconds: seconds.iter().sum(),
            threads: (first..).zip(seconds).collect(),
            stack,
        }];
        drawn
    }

    fn found(drawn: &Drawn) -> Vec<(Rule, String)> {
        let findings = find(drawn, &Thresholds::default());
        findings.into_iter().map(|finding| (finding.rule, finding.place)).collect()
    }

    #[test]
    fn a_word_that_two_threads_change_all_the_time_is_found() {
        let place = "count at stats.c:12".to_owned();
        assert_eq!(found(&counting([0.8, 0.8])), [(Rule::BusyAtomics, place)]);
        assert!(found(&counting([0.79, 0.8])).is_empty(), "9.9 % of the processor time");
    }

    /// Modelled on indicatif, whose mutex spins before it sleeps.
    #[test]
    fn waiting_loops_of_the_function_count_too() {
        let spinning = |place: &str| {
            let mut drawn = counting([0.5, 0.5]);
            let word = drawn.lock(Primitive::Spin, "spin");
            let site = drawn.site(Op::Spin, place);
            drawn.uses(word, site, Use { spun: 0.61, ..Use::default() });
            found(&drawn).len()
        };
        assert_eq!(spinning("count at stats.c:14"), 1);
        assert_eq!(spinning("wait at stats.c:30"), 0, "another function");
    }

    #[test]
    fn a_word_of_one_thread_has_no_finding() {
        assert_eq!(found(&counting([4.5, 0.5])).len(), 1);
        assert!(found(&counting([4.51, 0.49])).is_empty(), "one thread has nine tenths");
    }

    #[test]
    fn some_samples_are_no_finding() {
        let mut drawn = counting([0.02, 0.02]);
        drawn.times.running = 0.1;
        assert!(found(&drawn).is_empty());
    }

    /// The function's lock has a futex. Threads that do not get the lock at once sleep in the
    /// futex.
    #[test]
    fn a_busy_futex_in_the_same_function_says_more() {
        let mut drawn = counting([2.0, 2.0]);
        let futex = drawn.lock(Primitive::Futex, "lock");
        let site = drawn.site(Op::FutexWait, "count at stats.c:10");
        let waits = Use { calls: 100_000, waits: 100_000, waited: 10.0, ..Use::default() };
        drawn.uses(futex, site, waits);
        let findings = find(&drawn, &Thresholds::default());
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].rule, Rule::BusyFutex);
        let has = |label: &str| findings[0].evidence.iter().any(|e| e.what.contains(label));
        assert!(has("atomic instructions"), "{:?}", findings[0].evidence);
        drawn.atomics[0].function = "read".to_owned();
        let findings = find(&drawn, &Thresholds::default());
        assert_eq!(findings.len(), 2);
    }
}
