//! Locks that a program made itself of a mutex, a condition and a flag: an interpreter's such as
//! CPython's, a pool's.
//!
//! ```text
//! take   lock the mutex; while it is taken, wait for the condition; mark it taken; unlock
//! give   lock the mutex; mark it free; signal the condition; unlock
//! ```
//!
//! The mutex is hardly waited for, and threads that wait for the condition look as if they had
//! nothing to do. What tells such a lock from a queue is that each thread gives back what it took:
//! it locks the mutex as often in the one function as in the others. A queue has those who put and
//! those who take; at a barrier all happens in one function, at one place. Where a compiler has put
//! both into one function, and no debug information tells them apart, the two places have to be used
//! as often as the condition is signalled.

use std::collections::BTreeMap;

use syncline_recording::{Class, Primitive};

use crate::findings::evidence::{count, rate, seconds, share};
use crate::findings::family::FEWEST_TAKEN;
use crate::model::{Category, Finding, Lock, Process, Remedy, Rule, SiteUse};

/// The least share of the threads' time that is waited for one.
const FLOOR: f64 = 0.05;
/// How often a thread may have taken more than it gave back, beside the last time: for a wait that
/// was given up.
const UNEVEN: f64 = 0.01;

/// Locks of the program's own that threads wait for.
pub fn find(process: &Process) -> Vec<Finding> {
    let conditions = process.locks.iter().enumerate().filter(|(_, lock)| {
        let figures = &lock.figures;
        lock.primitive == Primitive::Condvar
            && figures.waits >= FEWEST_TAKEN
            && figures.waited >= FLOOR * process.thread_seconds
    });
    conditions.filter_map(|(number, condition)| finding(process, number, condition)).collect()
}

fn finding(process: &Process, number: usize, condition: &Lock) -> Option<Finding> {
    let wait = condition.uses(Class::Wait).max_by(|a, b| a.waited.total_cmp(&b.waited))?;
    let take = process.function_of(&process.sites[wait.site])?;
    let wakes: Vec<&SiteUse> = condition.uses(Class::Notify).collect();
    let functions = wakes.iter().filter_map(|used| process.function_of(&process.sites[used.site]));
    let give: Vec<&str> = functions.filter(|&function| function != take).collect();
    let mutexes = process.locks.iter().enumerate();
    let (mutex, [takes, gives]) = mutexes
        .filter(|(_, lock)| lock.primitive == Primitive::Mutex)
        .find_map(|(number, mutex)| {
            let sides = if give.is_empty() {
                Side::of_one_function(process, mutex, take, &wakes)?
            } else {
                [&[take][..], &give].map(|functions| Side::at(process, mutex, functions))
            };
            balanced(&sides).then_some((number, sides))
        })?;
    let threads = takes.by_thread.keys().map(|&thread| &process.threads[thread]);
    let alive: f64 = threads.map(|thread| thread.seconds).sum();
    let all = takes.by_thread.values().sum::<u64>();
    let given = process.sites[*gives.sites.first()?].place.clone();
    Some(Finding {
        rule: Rule::OwnLock,
        category: Category::ImproperGranularity,
        title: "Threads wait for a lock that the program made of a condition".to_owned(),
        place: process.sites[wait.site].place.clone(),
        locks: vec![number, mutex],
        evidence: vec![
            share("of its threads' time waited for it", wait.waited / alive.max(1e-9)),
            rate("times taken", all as f64 / process.seconds),
            count("waits", wait.waits),
            seconds("mean wait", wait.waited / wait.waits.max(1) as f64),
            count("threads that take it and give it back", takes.by_thread.len() as u64),
        ],
        advice: format!(
            "Who has taken it keeps the others from working until it is given back, at {given}. \
             Take it for less, give it back before what takes long, or make several of it; the \
             mutex inside is not what is waited for."
        ),
        open_question: None,
        remedy: Remedy::Unknown,
        sites: [wait.site]
            .into_iter()
            .chain(takes.sites)
            .chain(gives.sites)
            .chain(wakes.iter().map(|used| used.site))
            .collect(),
        gain: None,
    })
}

/// One of the two: where the mutex is locked for it, and how often by each thread.
struct Side {
    sites: Vec<usize>,
    by_thread: BTreeMap<usize, u64>,
}

impl Side {
    fn of(process: &Process, sites: Vec<usize>) -> Side {
        let mut by_thread = BTreeMap::new();
        for &(thread, calls) in sites.iter().flat_map(|&site| &process.sites[site].by_thread) {
            *by_thread.entry(thread).or_default() += calls;
        }
        Side { sites, by_thread }
    }

    /// Where a mutex is locked in these functions.
    fn at(process: &Process, mutex: &Lock, functions: &[&str]) -> Side {
        let sites = mutex.uses(Class::Acquire).map(|used| used.site).filter(|&number| {
            let site = &process.sites[number];
            let is_here = process.function_of(site).is_some_and(|here| functions.contains(&here));
            // What each thread did is known of a site, whatever the lock.
            is_here && site.locks == 1
        });
        Side::of(process, sites.collect())
    }

    /// Two places in one function where a mutex is locked as often as the condition is signalled.
    fn of_one_function(
        process: &Process,
        mutex: &Lock,
        function: &str,
        wakes: &[&SiteUse],
    ) -> Option<[Side; 2]> {
        let signals = Side::of(process, wakes.iter().map(|used| used.site).collect());
        let here = Side::at(process, mutex, &[function]).sites;
        let mut sides = here.into_iter().map(|site| Side::of(process, vec![site]));
        let mut as_often = || sides.find(|side| gives_back(side, &signals));
        Some([as_often()?, as_often()?])
    }
}

/// Whether several threads take, and every one gives back what it takes.
fn balanced([takes, gives]: &[Side; 2]) -> bool {
    let often = takes.by_thread.values().filter(|&&calls| calls >= FEWEST_TAKEN).count();
    often >= 2 && gives_back(takes, gives)
}

fn gives_back(takes: &Side, gives: &Side) -> bool {
    let of = |side: &Side, thread: &usize| side.by_thread.get(thread).copied().unwrap_or(0);
    let mut threads = takes.by_thread.keys().chain(gives.by_thread.keys());
    let even = |thread: &usize| {
        let (taken, given) = (of(takes, thread), of(gives, thread));
        taken.abs_diff(given) as f64 <= 1.0 + UNEVEN * taken as f64
    };
    threads.all(even)
}

#[cfg(test)]
mod tests {
    use syncline_recording::Op;

    use super::*;
    use crate::findings::testing::{Use, process};

    /// Threads that lock the mutex so often in the one function and in the other, and wait in the
    /// first for a condition that is signalled in the second.
    fn found(calls: &[(u64, u64)], give: &str) -> usize {
        let mut drawn = process(10.0, 4);
        let first = drawn.threads("interpret", calls.len(), 10.0);
        let mutex = drawn.lock(Primitive::Mutex, "gil.mutex");
        let condition = drawn.lock(Primitive::Condvar, "gil.cond");
        let [taken, given] = [|c: &(u64, u64)| c.0, |c: &(u64, u64)| c.1]
            .map(|of| (first..).zip(calls.iter().map(of)).collect::<Vec<_>>());
        let sum = |calls: &[(usize, u64)]| calls.iter().map(|&(_, calls)| calls).sum();
        for (place, by_thread) in [("take at gil.c:10", &taken), (give, &given)] {
            let site = drawn.site(Op::MutexLock, place);
            drawn.uses(mutex, site, Use { calls: sum(by_thread), ..Use::default() });
            drawn.sites[site].locks = 1;
            drawn.sites[site].by_thread.clone_from(by_thread);
        }
        let wait = drawn.site(Op::CondWait, "take at gil.c:14");
        let used = Use { calls: 500, waits: 500, waited: 15.0, ..Use::default() };
        drawn.uses(condition, wait, used);
        let signal = drawn.site(Op::CondSignal, give);
        drawn.uses(condition, signal, Use { calls: sum(&given), ..Use::default() });
        drawn.sites[signal].by_thread = given;
        find(&drawn).len()
    }

    #[test]
    fn what_each_thread_takes_and_gives_back_is_a_lock() {
        assert_eq!(found(&[(600, 600), (400, 400)], "give at gil.c:30"), 1);
        assert_eq!(found(&[(600, 599), (400, 403)], "give at gil.c:30"), 1, "it ended with it");
        assert_eq!(found(&[(600, 600), (400, 400)], "take at gil.c:30"), 1, "in one function");
    }

    #[test]
    fn queues_barriers_and_what_one_thread_uses_are_none() {
        assert_eq!(found(&[(0, 600), (600, 0)], "put at queue.c:30"), 0, "two sides");
        assert_eq!(found(&[(600, 400), (400, 600)], "put at queue.c:30"), 0, "tasks make tasks");
        assert_eq!(found(&[(600, 600), (2, 2)], "give at gil.c:30"), 0, "hardly shared");
        assert_eq!(found(&[(600, 300), (400, 200)], "take at barrier.c:30"), 0, "all wait for all");
    }
}
