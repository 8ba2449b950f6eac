//! Barriers that a program made from a lock and a condition.
//!
//! Each thread that arrives counts itself under the lock. All but the last wait for the condition,
//! and the last one wakes them. So for each broadcast there are as many arrivals as threads that
//! meet. Unlike at a queue, threads wait and wake in the same functions. These are either
//!
//! - one function, which may take the lock for other purposes as well; or
//! - several functions, for example if one thread hands out work and takes part in it. Then each
//!   arrival has to be accounted for: it waits, or it wakes all.

use std::collections::BTreeSet;

use syncline_recording::{Class, Op, Primitive};

use super::family::Family;
use crate::model::{Lock, Process, Site, SiteUse};

/// How far the number of arrivals for each broadcast may be from a whole number, and the share of
/// calls that may be unaccounted for. The run may end within a round.
const WHOLE: f64 = 0.02;

/// A barrier of the program's own.
pub struct Meeting<'a> {
    process: &'a Process,
    functions: BTreeSet<&'a str>,
    /// The condition's index in [`Process::locks`].
    pub condition: usize,
    /// How often the threads met.
    pub rounds: u64,
    /// How many threads meet.
    pub threads: usize,
}

impl<'a> Meeting<'a> {
    /// The barrier that a family's locks form with a condition; `None` if they form none.
    pub fn at(process: &'a Process, family: &Family) -> Option<Meeting<'a>> {
        let conditions = process.locks.iter().enumerate();
        let mut conditions = conditions.filter(|(_, lock)| lock.primitive == Primitive::Condvar);
        conditions.find_map(|(number, condition)| {
            let meeting = |functions, rounds, arrivals: u64| Meeting {
                process,
                functions,
                condition: number,
                rounds,
                threads: (arrivals as f64 / rounds as f64).round() as usize,
            };
            // If all arrivals are accounted for, their number is certain, so this is tried first.
            in_several(process, family, condition)
                .or_else(|| in_one_function(process, family, condition))
                .map(|(functions, rounds, arrivals)| meeting(functions, rounds, arrivals))
        })
    }

    /// Whether a site is in a function in which the threads meet.
    pub fn is_in(&self, site: &Site) -> bool {
        self.process.is_in(site, &self.functions)
    }
}

/// The functions in which threads meet, the rounds, and the arrivals.
type Met<'a> = (BTreeSet<&'a str>, u64, u64);

fn in_one_function<'a>(process: &'a Process, family: &Family, condition: &Lock) -> Option<Met<'a>> {
    let arrivals = family.sites.iter().map(|&site| &process.sites[site]);
    let arrivals = arrivals.filter(|site| site.op.class() == Class::Acquire && site.threads > 1);
    let main = arrivals.max_by_key(|site| site.figures.calls)?;
    let here = process.function_of(main)?;
    let at = |op: Op| {
        let used = condition.sites.iter().filter(move |used| used.op == op);
        let sites = used.map(|used| (&process.sites[used.site], used.calls));
        sites.filter(|(site, _)| site.threads > 1 && process.function_of(site) == Some(here))
    };
    at(Op::CondWait).next()?;
    let mut broadcasts = at(Op::CondBroadcast).map(|(_, calls)| calls);
    let rounds = broadcasts.find(|&calls| is_whole(main.figures.calls, calls, main.threads))?;
    Some((BTreeSet::from([here]), rounds, main.figures.calls))
}

fn in_several<'a>(process: &'a Process, family: &Family, condition: &Lock) -> Option<Met<'a>> {
    let site = |used: &SiteUse| &process.sites[used.site];
    let waits: Vec<&SiteUse> = condition.uses(Class::Wait).collect();
    let wakes: Vec<&SiteUse> = condition.uses(Class::Notify).collect();
    let functions = process.functions_of(waits.iter().copied().map(site));
    let is_here = |site: &Site| process.is_in(site, &functions);
    let wakes_all = |used: &SiteUse| used.op == Op::CondBroadcast && is_here(site(used));
    let calls = |of: &dyn Fn(&SiteUse) -> bool| -> u64 {
        wakes.iter().filter(|used| of(used)).map(|used| used.calls).sum()
    };
    let (rounds, others) = (calls(&wakes_all), calls(&|used| !wakes_all(used)));
    // Another function may wake the threads once, to end them.
    if rounds == 0 || others as f64 > WHOLE * rounds as f64 {
        return None;
    }
    let arrivals = family.sites.iter().map(|&site| &process.sites[site]);
    let arrivals: Vec<&Site> =
        arrivals.filter(|site| site.op.class() == Class::Acquire && is_here(site)).collect();
    let came: u64 = arrivals.iter().map(|site| site.figures.calls).sum();
    let slept: u64 =
        waits.iter().map(|used| used.calls.saturating_sub(site(used).figures.futile)).sum();
    let unknown = came.abs_diff(slept + rounds) as f64;
    let threads: usize = arrivals.iter().map(|site| site.threads).max()? + functions.len() - 1;
    (unknown <= WHOLE * came as f64 && is_whole(came, rounds, threads))
        .then_some((functions, rounds, came))
}

/// Whether the number of arrivals in each round is a whole number, at least two, and not more than
/// the number of threads that arrive.
fn is_whole(arrivals: u64, rounds: u64, threads: usize) -> bool {
    let each = arrivals as f64 / rounds.max(1) as f64;
    let most = threads as f64 + WHOLE;
    each >= 2.0 - WHOLE && each <= most && (each - each.round()).abs() <= WHOLE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::{Use, process};

    /// Whether three threads meet that arrive `arrivals` times and broadcast `broadcasts` times, in
    /// the function `waker`.
    fn meet(arrivals: u64, broadcasts: u64, waker: &str) -> bool {
        let mut drawn = process(10.0, 4);
        drawn.threads("work", 3, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "mutex");
        let condition = drawn.lock(Primitive::Condvar, "all_came");
        let arrive = drawn.site(Op::MutexLock, "meet at barrier.c:10");
        drawn.uses(lock, arrive, Use { calls: arrivals, ..Use::default() });
        let wait = drawn.site(Op::CondWait, "meet at barrier.c:14");
        drawn.uses(condition, wait, Use { calls: 100, waits: 100, ..Use::default() });
        let wake = drawn.site(Op::CondBroadcast, &format!("{waker} at barrier.c:20"));
        drawn.uses(condition, wake, Use { calls: broadcasts, ..Use::default() });
        for site in [arrive, wait, wake] {
            drawn.sites[site].threads = 3;
        }
        let meeting = Meeting::at(&drawn, &Family::all(&drawn)[0]);
        meeting.is_some_and(|m| m.is_in(&drawn.sites[arrive]) && m.rounds == broadcasts)
    }

    #[test]
    fn waiting_and_waking_all_in_one_function_is_a_meeting() {
        assert!(meet(30_000, 10_000, "meet"));
        assert!(meet(30_001, 10_000, "meet"), "the last round is not over");
        assert!(meet(20_000, 10_000, "meet"), "two of three threads");
    }

    #[test]
    fn queues_and_pools_do_not_meet() {
        assert!(!meet(30_000, 10_000, "put"), "others wake");
        assert!(!meet(27_000, 10_000, "meet"), "2.7 for each");
        assert!(!meet(10_000, 10_000, "meet"), "one for each");
        assert!(!meet(40_000, 10_000, "meet"), "more than threads");
    }

    #[test]
    fn threads_that_nobody_wakes_do_not_meet() {
        let mut drawn = process(10.0, 4);
        drawn.threads("work", 3, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "mutex");
        let condition = drawn.lock(Primitive::Condvar, "news");
        let arrive = drawn.site(Op::MutexLock, "sleep at news.c:10");
        drawn.uses(lock, arrive, Use { calls: 3, ..Use::default() });
        let wait = drawn.site(Op::CondWait, "sleep at news.c:12");
        drawn.uses(condition, wait, Use { calls: 3, waits: 3, ..Use::default() });
        drawn.sites[arrive].threads = 3;
        assert!(Meeting::at(&drawn, &Family::all(&drawn)[0]).is_none());
    }

    /// Two lines wake all threads, each in some of the rounds. By coincidence, one of them
    /// broadcasts once for every ten arrivals.
    #[test]
    fn explained_arrivals_give_the_number_of_threads_that_meet() {
        let mut drawn = process(10.0, 4);
        drawn.threads("work", 12, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "mutex");
        let condition = drawn.lock(Primitive::Condvar, "all_came");
        let arrive = drawn.site(Op::MutexLock, "meet at barrier.c:10");
        drawn.uses(lock, arrive, Use { calls: 80_000, ..Use::default() });
        let wait = drawn.site(Op::CondWait, "meet at barrier.c:14");
        drawn.uses(condition, wait, Use { calls: 70_000, waits: 70_000, ..Use::default() });
        for (line, calls) in [(20, 8_000), (24, 2_000)] {
            let wake = drawn.site(Op::CondBroadcast, &format!("meet at barrier.c:{line}"));
            drawn.uses(condition, wake, Use { calls, ..Use::default() });
        }
        let meeting = Meeting::at(&drawn, &Family::all(&drawn)[0]);
        assert_eq!(meeting.map(|meeting| (meeting.threads, meeting.rounds)), Some((8, 10_000)));
    }

    /// The number of threads that meet, in a program modelled on numexpr: workers, and the thread
    /// that hands out their work, meet before and after the work. That thread meets the workers in
    /// a function of its own, where it waits `own_waits` times, and broadcasts in the function
    /// `wakes_in`. At the end, another function wakes the threads.
    fn in_two_functions(own_waits: u64, wakes_in: &str) -> Option<usize> {
        let mut drawn = process(10.0, 4);
        drawn.threads("work", 4, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "mutex");
        let condition = drawn.lock(Primitive::Condvar, "all_came");
        let mut at = |op: Op, place: &str, object, threads, calls| {
            let site = drawn.site(op, place);
            let waits = if op == Op::CondWait { calls } else { 0 };
            drawn.uses(object, site, Use { calls, waits, ..Use::default() });
            drawn.sites[site].threads = threads;
        };
        at(Op::MutexLock, "work at pool.c:10", lock, 4, 40_000);
        at(Op::MutexLock, "work at pool.c:30", lock, 4, 40_000);
        at(Op::MutexLock, "run at pool.c:60", lock, 1, 10_000);
        at(Op::MutexLock, "run at pool.c:80", lock, 1, 10_000);
        at(Op::CondWait, "work at pool.c:14", condition, 4, 70_000);
        at(Op::CondWait, "run at pool.c:64", condition, 1, own_waits);
        at(Op::CondBroadcast, "work at pool.c:34", condition, 4, 18_000);
        at(Op::CondBroadcast, &format!("{wakes_in} at pool.c:84"), condition, 1, 2_000);
        at(Op::CondBroadcast, "end at pool.c:90", condition, 1, 1);
        let meeting = Meeting::at(&drawn, &Family::all(&drawn)[0])?;
        meeting.is_in(&drawn.sites[2]).then_some(meeting.threads)
    }

    #[test]
    fn threads_may_come_from_several_functions_if_all_wait_or_wake() {
        assert_eq!(in_two_functions(10_000, "run"), Some(5));
        assert_eq!(in_two_functions(2_000, "run"), None, "8,000 did neither");
        assert_eq!(in_two_functions(10_000, "stop"), None, "one only wakes");
    }
}
