//! [`Rule::SleepingHolder`] for resources that the recorder does not know as locks: the connections
//! of a pool, the permits of a semaphore, a lock of the program's own.
//!
//! The threads that wait for such a resource also give it back, so nearly all of them wake others.
//! If they mostly sleep when they don't wait (for a device, for an answer, or for a given time),
//! processors are idle meanwhile. With more of the resource, more threads could sleep at a time.

use std::collections::BTreeMap;

use syncline_recording::Primitive;

use crate::findings::blocked_holder::holder::{TIME_SLICE, draft};
use crate::findings::evidence::{count, seconds, share};
use crate::findings::waking::{are_peers, called_by, is_clock, is_wait, wakes};
use crate::model::{Finding, Lock, Process, Remedy, Rule, Site};

/// The threads must wait for their turn for at least this share of their time.
const FLOOR: f64 = 0.2;
/// If the threads sleep for this share of the time in which they don't wait, they mostly sleep.
const MOSTLY: f64 = 0.6;
/// Fewer threads than this do not take turns.
const FEWEST_THREADS: usize = 3;
/// Fewer waits than this may be part of the program's start.
const FEWEST_WAITS: u64 = 20;
/// A thread that makes less than this share of the calls of the thread with most calls does not
/// take part in the turns.
const SELDOM: f64 = 0.1;

/// Prefixes of the names of functions in which only a runtime's own threads wait, to hand work to
/// each other: HotSpot's.
const RUNTIME: [&str; 1] = ["Monitor::wait"];

/// Checks one call site of waits for events or in futexes.
pub fn find(process: &Process, number: usize) -> Option<Finding> {
    let site = &process.sites[number];
    let figures = &site.figures;
    let long = figures.waited >= TIME_SLICE * figures.waits as f64;
    if !is_wait(site.op) || is_clock(site) || figures.waits < FEWEST_WAITS || !long {
        return None;
    }
    if RUNTIME.iter().any(|start| site.place.starts_with(start)) {
        return None;
    }
    let threads = frequent_callers(site);
    let objects: Vec<usize> = process.used_at(number).collect();
    if objects.iter().any(|&object| is_limit(&process.locks[object])) {
        return None;
    }
    let mut wakes = wakes(process, &objects);
    // A thread that gives back what it took wakes others at least half as often as it waits.
    let takes: BTreeMap<usize, u64> = called_by(site).collect();
    wakes.retain(|thread, &mut wakes| takes.get(thread).is_some_and(|takes| 2 * wakes >= *takes));
    let peers = are_peers(threads.iter().copied(), &wakes);
    if threads.len() < FEWEST_THREADS || !peers {
        return None;
    }
    let spent = Spent::by(process, &threads, figures.waited);
    let applies = figures.waited >= FLOOR * spent.lives && spent.asleep >= MOSTLY * spent.besides;
    applies.then(|| Finding {
        title: "Threads wait for a resource while the threads that have it sleep".to_owned(),
        evidence: vec![
            count("threads", threads.len() as u64),
            share("part of the threads' time spent waiting here", figures.waited / spent.lives),
            seconds("mean wait", figures.waited / figures.waits as f64),
            share("part of the threads' other time spent asleep", spent.asleep / spent.besides),
        ],
        advice: format!(
            "If they wait for a pool, make the pool larger: more connections, permits or workers. \
             Or give the lock, connection or permit back before the call that sleeps{}.",
            spent.place(process, &threads)
        ),
        // The gain depends on how many threads can have the resource at a time, which is not known.
        remedy: Remedy::Unknown,
        ..draft(process, number, Rule::SleepingHolder)
    })
}

/// Whether an object is a semaphore that began with several permits: a limit that the program has
/// set.
fn is_limit(lock: &Lock) -> bool {
    lock.primitive == Primitive::Semaphore && lock.begins_with.is_some_and(|permits| permits > 1)
}

/// The threads that call often at a site: at least `SELDOM` times as often as the thread with most
/// calls.
fn frequent_callers(site: &Site) -> Vec<usize> {
    let most = called_by(site).map(|(_, calls)| calls).max().unwrap_or(0);
    let often = |&(_, calls): &(usize, u64)| calls as f64 >= SELDOM * most as f64;
    called_by(site).filter(often).map(|(thread, _)| thread).collect()
}

/// How threads spent their time, in seconds, summed over the threads.
struct Spent {
    lives: f64,
    /// The time in which they waited neither at the site, nor for other threads elsewhere.
    besides: f64,
    /// The part of `besides` in which they slept: they had no processor and were not ready to run.
    asleep: f64,
}

impl Spent {
    fn by(process: &Process, threads: &[usize], waited_here: f64) -> Spent {
        let sum = |of: &dyn Fn(usize) -> f64| threads.iter().map(|&thread| of(thread)).sum::<f64>();
        let thread = |number: usize| &process.threads[number];
        let lives = sum(&|t| thread(t).seconds);
        let active = sum(&|t| thread(t).active()) + by_the_clock(process, threads);
        let waited = lives - active;
        let besides = (lives - waited.max(waited_here)).max(f64::MIN_POSITIVE);
        let ran = sum(&|t| thread(t).ran());
        let ready = sum(&|t| thread(t).ready.unwrap_or(0.0));
        Spent { lives, besides, asleep: (besides - ran - ready).max(0.0) }
    }

    /// A text with the call in which these threads sleep most; empty if samples don't show it.
    fn place(&self, process: &Process, threads: &[usize]) -> String {
        let theirs = process.asleep.iter().find(|asleep| {
            asleep.threads.iter().all(|thread| threads.contains(thread))
                && asleep.seconds >= MOSTLY * self.asleep
        });
        theirs
            .map_or_else(String::new, |asleep| format!(", in {} at {}", asleep.call, asleep.place))
    }
}

/// Seconds that threads waited until a time-out: some libraries sleep that way.
fn by_the_clock(process: &Process, threads: &[usize]) -> f64 {
    let clocks = process.sites.iter().filter(|site| {
        is_wait(site.op) && site.op.primitive() != Primitive::Semaphore && is_clock(site)
    });
    let theirs = |site: &Site| {
        let calls: u64 = called_by(site).map(|(_, calls)| calls).sum();
        let here = called_by(site).filter(|(thread, _)| threads.contains(thread));
        here.map(|(_, calls)| calls).sum::<u64>() as f64 / calls.max(1) as f64
    };
    clocks.map(|site| site.figures.waited * theirs(site)).sum()
}

#[cfg(test)]
mod tests {
    use syncline_recording::Op;

    use super::*;
    use crate::findings::testing::{Drawn, Use, process};

    /// Eight threads that live for ten seconds each. In these seconds, a thread waits `waited`
    /// seconds for a connection, runs for `ran` seconds, waits `elsewhere` seconds for others, and
    /// sleeps for the rest.
    fn borrow(waited: f64, ran: f64, elsewhere: f64) -> Drawn {
        let mut drawn = process(10.0, 4);
        let first = drawn.threads("serve", 8, 10.0);
        let free = drawn.lock(Primitive::Condvar, "pool.free");
        let wait = drawn.site(Op::CondWait, "borrow at pool.c:10");
        let used = Use { calls: 4_000, waits: 4_000, waited: 8.0 * waited, ..Use::default() };
        drawn.uses(free, wait, used);
        let give = drawn.site(Op::CondSignal, "give_back at pool.c:20");
        drawn.uses(free, give, Use { calls: 4_000, ..Use::default() });
        for site in [wait, give] {
            drawn.by_thread(site, (first..first + 8).map(|thread| (thread, 500)));
        }
        for thread in first..first + 8 {
            drawn.waited(thread, Primitive::Condvar, waited + elsewhere);
            drawn.threads[thread].cpu = Some(ran);
        }
        drawn
    }

    fn found(drawn: &Drawn) -> Vec<Finding> {
        (0..drawn.sites.len()).filter_map(|site| find(drawn, site)).collect()
    }

    #[test]
    fn threads_that_take_turns_and_sleep_need_more_permits() {
        let findings = found(&borrow(7.5, 0.1, 0.0));
        assert_eq!((findings.len(), &findings[0].place[..]), (1, "borrow at pool.c:10"));
        assert!(found(&borrow(1.9, 0.1, 0.0)).is_empty(), "they seldom wait");
    }

    #[test]
    fn threads_that_work_in_turns_need_no_more_permits() {
        assert_eq!(found(&borrow(7.5, 0.9, 0.0)).len(), 1, "1.6 of 2.5 seconds asleep");
        assert!(found(&borrow(7.5, 1.1, 0.0)).is_empty(), "1.4 of 2.5");
    }

    #[test]
    fn other_waits_do_not_count_as_sleep() {
        assert_eq!(found(&borrow(4.0, 0.7, 4.0)).len(), 1, "1.3 of 2 seconds asleep");
        assert!(found(&borrow(4.0, 0.9, 4.0)).is_empty(), "1.1 of 2");
    }

    #[test]
    fn timed_out_waits_count_as_sleep() {
        let mut drawn = borrow(4.0, 0.9, 4.0);
        let first = drawn.sites[0].by_thread[0].0;
        let sleeper = drawn.lock(Primitive::Condvar, "sleeper");
        let sleep = drawn.site(Op::CondTimedwait, "sleep at park.c:30");
        let used = Use { calls: 400, waits: 400, timeouts: 400, waited: 32.0, ..Use::default() };
        drawn.uses(sleeper, sleep, used);
        drawn.by_thread(sleep, (first..first + 8).map(|thread| (thread, 50)));
        assert_eq!(found(&drawn).len(), 1);
    }

    #[test]
    fn a_runtimes_own_threads_take_no_turns() {
        let mut drawn = borrow(7.5, 0.1, 0.0);
        drawn.sites[0].place = "Monitor::wait_without_safepoint_check(long)+0x38".to_owned();
        assert!(found(&drawn).is_empty());
    }

    #[test]
    fn threads_that_only_wait_take_no_turns() {
        let woken = |threads: usize, each: u64| {
            let mut drawn = borrow(7.5, 0.1, 0.0);
            let first = drawn.sites[1].by_thread[0].0;
            drawn.by_thread(1, (first..first + threads).map(|thread| (thread, each)));
            found(&drawn).len()
        };
        assert_eq!((woken(7, 500), woken(6, 500)), (1, 0), "two of eight are only woken");
        assert_eq!((woken(8, 250), woken(8, 249)), (1, 0), "they wait twice as often as they wake");
    }

    #[test]
    fn a_number_of_permits_is_a_limit() {
        let permits = |begins_with| {
            let mut drawn = borrow(7.5, 0.1, 0.0);
            (drawn.locks[0].primitive, drawn.locks[0].begins_with) =
                (Primitive::Semaphore, Some(begins_with));
            found(&drawn).len()
        };
        assert_eq!((permits(0), permits(1), permits(2)), (1, 1, 0));
    }

    #[test]
    fn short_waits_are_not_for_a_sleeping_holder() {
        let mut drawn = borrow(7.5, 0.1, 0.0);
        drawn.sites[0].figures.waits = 130_000;
        assert!(found(&drawn).is_empty(), "0.46 ms");
    }
}
