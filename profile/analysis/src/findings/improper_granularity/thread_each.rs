//! Threads that are created for one small piece of work each. Creating, starting and ending a
//! thread takes several system calls; a thread that waits for its next piece of work costs only a
//! wake-up.

use std::collections::BTreeSet;

use syncline_recording::Op;

use crate::findings::evidence::{count, rate, seconds, share};
use crate::model::{Finding, Process, Remedy, Rule, Site, Thread};
use crate::options::Thresholds;

/// Seconds of processor time that creating and ending a thread takes, without its work: a program
/// that creates and joins threads that do nothing takes 20 to 40 microseconds for each.
pub const A_THREAD: f64 = 25e-6;
/// The creation and end of threads must take at least this share of the run time, or of the
/// processor time if that is less. A program that mostly waits for others has little processor
/// time, and the threads may cost much of it.
const FLOOR: f64 = 0.02;
/// The creation and end of threads must also take at least this share of the run time, however
/// little processor time the program has.
const FLOOR_OF_RUN: f64 = 0.005;
/// With fewer threads than this, a program does not create one for each piece of work.
const FEWEST: u64 = 100;
/// Threads with a higher mean processor time, in seconds, are worth their creation.
const LARGE: f64 = 20.0 * A_THREAD;

/// The findings about call sites that create threads for small pieces of work.
pub fn find(process: &Process, _: &Thresholds) -> Vec<Finding> {
    let all = process.sites.iter().enumerate();
    let creations = all.filter(|(_, site)| site.op == Op::ThreadCreate);
    creations.filter_map(|(number, site)| finding(process, number, site)).collect()
}

fn finding(process: &Process, number: usize, site: &Site) -> Option<Finding> {
    let calls = site.figures.calls;
    let cost = calls as f64 * A_THREAD;
    let of_run = cost / process.seconds;
    let matters = cost >= FLOOR * process.ran().min(process.seconds) && of_run >= FLOOR_OF_RUN;
    let threads = || process.threads.iter().filter(|thread| is_made_at(site, thread));
    let lives: u64 = threads().map(|thread| u64::from(thread.lifetimes)).sum();
    let ran: f64 = threads().filter_map(|thread| thread.cpu).sum();
    let work = ran / lives.max(1) as f64;
    (calls >= FEWEST && matters && lives > 0 && work <= LARGE).then(|| Finding {
        rule: Rule::ThreadForEachTask,
        title: "A thread is made for each small piece of work".to_owned(),
        place: site.place.clone(),
        sites: vec![number],
        locks: Vec::new(),
        evidence: vec![
            rate("threads", calls as f64 / process.seconds),
            seconds("processor time of a thread", work),
            share("share of the run time to create and end threads (estimate)", of_run),
            count("threads", calls),
        ],
        advice: "Use a pool of threads, one for each processor, and hand the work to them through \
                 a queue. To hand over several pieces at a time is cheaper still."
            .to_owned(),
        open_question: None,
        remedy: Remedy::Unknown,
        gain: None,
    })
}

fn is_made_at(site: &Site, thread: &Thread) -> bool {
    thread.created_at.is_some_and(|at| site.stacks.contains(&at))
}

/// Leaves out the findings about waits of threads that are made for each piece of work: with a pool
/// these threads don't exist.
pub fn leave_waits_out(process: &Process, findings: &mut Vec<Finding>) {
    let made = |finding: &Finding| finding.rule == Rule::ThreadForEachTask;
    let sites = findings.iter().filter(|finding| made(finding)).flat_map(|made| &made.sites);
    let sites: BTreeSet<usize> = sites.copied().collect();
    let is_short = |thread: usize| {
        sites.iter().any(|&site| is_made_at(&process.sites[site], &process.threads[thread]))
    };
    findings.retain(|finding| {
        let threads = process.threads_at(finding.sites.iter().copied());
        let all = !threads.is_empty() && threads.into_iter().all(is_short);
        made(finding) || !finding.rule.about().shares_waits || !all
    });
}

#[cfg(test)]
mod tests {
    use syncline_recording::Primitive;

    use super::*;
    use crate::findings::testing::{Drawn, Use, finding, process};

    /// A process of ten seconds with `threads` threads, one after the other, each of which runs for
    /// `each` seconds.
    fn made(threads: u32, each: f64) -> Drawn {
        let mut drawn = process(10.0, 4);
        let first = drawn.threads("task", 1, 10.0);
        let site = drawn.site(Op::ThreadCreate, "async at tasks.cpp:10");
        drawn.sites[site].figures.calls = u64::from(threads);
        let stack = drawn.sites[site].stacks[0];
        let thread = &mut drawn.threads[first];
        thread.lifetimes = threads;
        thread.cpu = Some(f64::from(threads) * each);
        thread.created_at = Some(stack);
        drawn.threads[0].cpu = Some(10.0);
        drawn
    }

    fn found(drawn: &Drawn) -> usize {
        find(drawn, &Thresholds::default()).len()
    }

    #[test]
    fn many_threads_with_little_work_are_found() {
        assert_eq!(found(&made(60_000, 40e-6)), 1);
    }

    #[test]
    fn the_cost_of_threads_is_compared_with_the_run() {
        let idle = |threads| {
            let mut drawn = made(threads, 40e-6);
            drawn.threads[0].cpu = Some(1.0);
            found(&drawn)
        };
        assert_eq!((idle(1_900), idle(2_100)), (0, 1), "0.5 % of the run is 2,000");
    }

    #[test]
    fn few_threads_and_large_tasks_have_no_finding() {
        assert_eq!(found(&made(7_900, 40e-6)), 0, "2 % at 25 µs each is 8,000");
        assert_eq!(found(&made(60_000, 510e-6)), 0);
        let short = |threads: u32| {
            let mut drawn = made(threads, 40e-6);
            drawn.seconds = 0.01;
            found(&drawn)
        };
        assert_eq!((short(99), short(100)), (0, 1));
    }

    /// Modelled on exa, which makes a pool of threads for each folder.
    #[test]
    fn waits_of_the_threads_that_are_made_are_left_out() {
        let left = |waits_in_first: bool| {
            let mut drawn = made(10_000, 50e-6);
            let futex = drawn.lock(Primitive::Futex, "jobs");
            let site = drawn.site(Op::FutexWait, "run at pool.rs:121");
            drawn.uses(futex, site, Use { calls: 9_000, waits: 9_000, ..Use::default() });
            let threads = [0, 1].into_iter().skip(usize::from(!waits_in_first));
            drawn.by_thread(site, threads.map(|thread| (thread, 4_500)));
            let mut findings = find(&drawn, &Thresholds::default());
            findings.push(finding(Rule::BusyFutex, &[site]));
            leave_waits_out(&drawn, &mut findings);
            findings.len()
        };
        assert_eq!((left(false), left(true)), (1, 2));
    }
}
