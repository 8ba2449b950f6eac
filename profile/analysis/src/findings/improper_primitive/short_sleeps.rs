//! Threads that sleep for a moment, again and again, while the program hardly runs: what they wait for, or
//! what else they have to do, does not come sooner for that.
//!
//! Most such threads look for something after each sleep: for a result, a message, a flag. They see it
//! half a sleep too late on the average, and a wait for the event itself ends at once. A sleep may also
//! stand for a piece of work, as where a task of a pool calls what blocks. Nothing shows which it is, so
//! the advice has both.

use syncline_recording::Op;

use super::where_most_is_lost;
use crate::findings::evidence::{count, rate, seconds, share};
use crate::model::{Finding, Process, Remedy, Rule, Site};
use crate::options::Thresholds;

/// So many sleeps of one call site, and no longer than this on the average in seconds, are of threads
/// that go on again and again. Others keep a clock, or sleep once.
pub const MANY: u64 = 100;
/// See [`MANY`].
pub const SHORT: f64 = 20e-3;
/// The least time that is slept so, as a share of the run: threads that sleep less have other things
/// to do.
const FLOOR: f64 = 0.3;
/// A program that has a processor for more than this share of its run gets on while a thread sleeps.
const HARDLY_RUNS: f64 = 0.5;

/// Where threads sleep for a moment again and again.
pub fn find(process: &Process, _: &Thresholds) -> Vec<Finding> {
    let sites = || process.sites.iter().enumerate().filter(|(_, site)| sleeps_again(site));
    let lost: f64 = sites().map(|(_, site)| site.figures.lost()).sum();
    let runs = process.ran() > HARDLY_RUNS * process.seconds;
    // Where they sleep with a lock held, others wait for that.
    let in_the_way = process.waiting.locks > lost;
    if lost < FLOOR * process.seconds || lost == 0.0 || runs || in_the_way {
        return Vec::new();
    }
    vec![finding(process, &where_most_is_lost(sites()), lost)]
}

/// Whether a thread sleeps there for a moment, again and again.
pub fn sleeps_again(site: &Site) -> bool {
    let sleeps = site.figures.waits + site.figures.unfinished;
    site.op == Op::Sleep && sleeps >= MANY && site.figures.lost() <= SHORT * sleeps as f64
}

fn finding(process: &Process, sites: &[(usize, &Site)], lost: f64) -> Finding {
    let sleeps: u64 = sites.iter().map(|(_, site)| site.figures.waits).sum();
    let numbers: Vec<usize> = sites.iter().map(|&(number, _)| number).collect();
    let threads = process.threads_at(numbers.iter().copied());
    Finding {
        rule: Rule::ShortSleeps,
        title: "Threads sleep for a moment again and again, and the program hardly runs".to_owned(),
        place: sites[0].1.place.clone(),
        locks: Vec::new(),
        evidence: vec![
            rate("sleeps", sleeps as f64 / process.seconds),
            seconds("mean sleep", lost / sleeps.max(1) as f64),
            share("of all threads' time slept so", lost / process.thread_seconds),
            count("threads", threads.len() as u64),
            share("of the run time that the program has a processor", process.ran() / process.seconds),
        ],
        advice: "If a thread looks for something after each sleep, let it wait for the event itself: a \
                 condition, a semaphore, or a file with poll. If each sleep belongs to a piece of work, \
                 have more threads, so that more of them sleep at a time."
            .to_owned(),
        sites: numbers,
        open_question: None,
        remedy: Remedy::Unknown,
        gain: None,
    }
}

#[cfg(test)]
mod tests {
    use syncline_recording::Primitive;

    use super::*;
    use crate::findings::testing::{Drawn, Use, process};

    /// One of two threads sleeps so often, so long each time, in ten seconds; both together run that long.
    fn slept(sleeps: u64, each: f64, ran: f64) -> Drawn {
        let mut drawn = process(10.0, 2);
        let worker = drawn.threads("look", 1, 10.0);
        let time = drawn.lock(Primitive::Sleep, "sleep");
        let site = drawn.site(Op::Sleep, "look at poll.c:10");
        let waited = sleeps as f64 * each;
        drawn.uses(time, site, Use { calls: sleeps, waits: sleeps, waited, ..Use::default() });
        drawn.sites[site].by_thread = vec![(worker, sleeps)];
        for thread in &mut drawn.threads {
            thread.cpu = Some(ran / 2.0);
        }
        drawn
    }

    fn found(drawn: &Drawn) -> usize {
        find(drawn, &Thresholds::default()).len()
    }

    #[test]
    fn who_sleeps_and_looks_while_nothing_else_goes_on() {
        let findings = find(&slept(4_000, 1e-3, 0.5), &Thresholds::default());
        assert_eq!((findings.len(), &findings[0].place[..]), (1, "look at poll.c:10"));
        assert_eq!(findings[0].evidence[0].value, 400.0);
        assert_eq!(found(&slept(2_900, 1e-3, 0.5)), 0, "2.9 of ten seconds");
        assert_eq!(found(&slept(99, 20e-3, 0.5)), 0, "seldom");
        assert_eq!((found(&slept(300, 19e-3, 0.5)), found(&slept(300, 21e-3, 0.5))), (1, 0));
    }

    #[test]
    fn a_program_that_runs_meanwhile_gets_on() {
        assert_eq!((found(&slept(4_000, 1e-3, 4.9)), found(&slept(4_000, 1e-3, 5.1))), (1, 0));
    }

    #[test]
    fn who_sleeps_with_a_lock_is_another_problem() {
        let mut drawn = slept(4_000, 1e-3, 0.5);
        drawn.waiting.locks = 3.9;
        assert_eq!(found(&drawn), 1);
        drawn.waiting.locks = 4.1;
        assert_eq!(found(&drawn), 0);
    }
}
