//! Threads that poll a condition and yield the processor in between.
//!
//! They wait for a word in memory to change, so it is not known which thread ends their wait. They
//! may be one side of a queue that is full or empty, workers without work, or waiters of a lock of
//! the program's own. Each yield is a system call, and if processors are scarce, it also costs a
//! switch to another thread and back. But the thread is never asleep, so no other figure shows the
//! waiting or its cost.

use syncline_recording::{Op, Primitive};

use super::most_lost::sites_with_most_lost;
use crate::findings::busy_futex::yielding;
use crate::findings::evidence::{count, rate, seconds, share};
use crate::findings::family::few;
use crate::model::{Finding, Process, Remedy, Rule, Site, Thread};
use crate::options::Thresholds;

/// Yielding must take at least this share of all threads' time. That time includes what yields cost
/// other threads.
const LEAST_SHARE: f64 = 0.05;
/// Yielding for less than this, in seconds, says nothing about a run: for a few time slices,
/// threads may share a processor, for example when they have just been created.
const FLOOR: f64 = 0.05;
/// A thread polls if it spends this share of its life yielding. If only one thread yields, it may
/// be the quicker side of a queue, which has nothing else to do.
const POLLS: f64 = 0.1;

/// The finding about call sites where threads yield again and again, if they lose enough time
/// there.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let all = || {
        let sites = process.sites.iter().enumerate();
        sites.filter(|(_, site)| site.op == Op::Yield && !yielding::is_lock(process, site))
    };
    let lost: f64 = all().map(|(_, site)| site.figures.lost()).sum();
    let calls: u64 = all().map(|(_, site)| site.figures.calls).sum();
    let often = calls as f64 > thresholds.acquisitions_per_second * process.seconds;
    if !often || lost < f64::max(LEAST_SHARE * process.thread_seconds, FLOOR) {
        return Vec::new();
    }
    let here = process.threads_at(all().map(|(site, _)| site));
    let polls = |thread: &Thread| {
        let away = thread.waited_for.get(&Primitive::Yield).copied().unwrap_or(0.0);
        thread.spun + away >= POLLS * thread.seconds
    };
    if here.iter().filter(|&&thread| polls(&process.threads[thread])).count() < 2 {
        return Vec::new();
    }
    let sites = sites_with_most_lost(all());
    vec![finding(process, &sites, calls, lost)]
}

fn finding(process: &Process, sites: &[(usize, &Site)], calls: u64, lost: f64) -> Finding {
    let polled: f64 = sites.iter().map(|(_, site)| site.figures.spun).sum();
    let numbers: Vec<usize> = sites.iter().map(|&(number, _)| number).collect();
    let threads = process.threads_at(numbers.iter().copied());
    let objects: Vec<usize> = process.used_at(numbers[0]).collect();
    Finding {
        rule: Rule::PollingYield,
        title: "Threads yield until what they wait for is there".to_owned(),
        place: sites[0].1.place.clone(),
        locks: few(&objects),
        evidence: vec![
            share("share of all threads' time spent yielding", lost / process.thread_seconds),
            rate("yields", calls as f64 / process.seconds),
            seconds("processor time of the yields", polled),
            count("threads", threads.len() as u64),
            count("call sites", sites.len() as u64),
        ],
        advice: "If the threads pass things to each other, pass several at a time: a longer queue, \
                 or batches. If they wait longer than a few microseconds, let them sleep: a condition \
                 variable, a semaphore, or std::atomic::wait. If there are more threads than \
                 processors, use fewer."
            .to_owned(),
        sites: numbers,
        open_question: None,
        remedy: Remedy::Unknown,
        gain: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::{Drawn, Use, process};

    /// The two sides of a queue, which in ten seconds together yield `calls` times. One side spends
    /// `put` seconds on yields, the other `take` seconds.
    fn queue(calls: u64, put: f64, take: f64) -> Drawn {
        let mut drawn = process(10.0, 4);
        let first = drawn.threads("side", 2, 10.0);
        let processor = drawn.lock(Primitive::Yield, "yield");
        let sides = [("put at queue.c:10", put), ("take at queue.c:20", take)];
        for (thread, (place, spun)) in (first..).zip(sides) {
            let site = drawn.site(Op::Yield, place);
            drawn.uses(processor, site, Use { calls: calls / 2, spun, ..Use::default() });
            drawn.by_thread(site, vec![(thread, calls / 2)]);
            drawn.threads[thread].spun = spun;
        }
        drawn
    }

    fn found(drawn: &Drawn) -> Vec<(String, usize)> {
        let findings = find(drawn, &Thresholds::default());
        findings.into_iter().map(|finding| (finding.place, finding.sites.len())).collect()
    }

    #[test]
    fn both_yielding_sides_of_a_queue_are_one_finding() {
        let sides = found(&queue(1_000_000, 1.1, 1.2));
        assert_eq!(sides, [("take at queue.c:20".to_owned(), 2)]);
        assert!(found(&queue(1_000_000, 0.9, 5.0)).is_empty(), "one side is the quicker one");
    }

    #[test]
    fn time_off_the_processor_counts_as_yielding() {
        let mut drawn = queue(1_000_000, 0.4, 1.1);
        drawn.uses(0, 0, Use { waits: 1_000, waited: 0.8, ..Use::default() });
        assert!(found(&drawn).is_empty());
        let (first, _) = drawn.sites[0].by_thread[0];
        drawn.waited(first, Primitive::Yield, 0.8);
        assert_eq!(found(&drawn), [("put at queue.c:10".to_owned(), 2)]);
    }

    #[test]
    fn threads_that_yield_little_or_seldom_do_not() {
        let mut long = queue(1_000_000, 1.1, 1.1);
        long.thread_seconds = 45.0;
        assert!(found(&long).is_empty(), "4.9 %");
        assert!(found(&queue(9_900, 1.1, 1.1)).is_empty(), "990 a second");
        let mut short = queue(1_000_000, 0.024, 0.025);
        for thread in short.threads.iter_mut() {
            thread.seconds = 0.05;
        }
        (short.seconds, short.thread_seconds) = (0.05, 0.15);
        assert!(found(&short).is_empty());
    }
}
