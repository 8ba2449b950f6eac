//! Threads that can't continue, according to what each waits for when the recording ends or is
//! read. A deadlock is a cycle of threads, each of which waits for a lock that the next one holds,
//! or for the next one's end. Or a thread may have ended with a lock that others wait for. If there is
//! neither, but all threads wait, some may wait for a
//! condition whose last signal came too early. If none does, and all threads have waited for long,
//! all of them are reported. Otherwise there may be a lock whose holder waits for an event that no
//! other thread seems able to bring about.
//!
//! A process that ended by itself had no such threads at its end, but perhaps until a signal came. So
//! had one whose first thread went on after a signal, only to wait for the others.

mod abandoned;
mod held_wait;
mod interrupted;
mod polling;
mod waits;

use std::collections::{BTreeMap, BTreeSet};

use syncline_present::number::counted;
use syncline_recording::Op;

use self::waits::{
    NAMED, chain, is_for_good, link, living, place, shortest, stands_still, text, thread_label,
    unsignalled, waiting,
};
use crate::model::{Process, Stuck, Trap};
use crate::name::primitive;

/// All deadlocks and abandoned locks; if there are none, other waits that will not end. If the
/// process ended by itself, or all threads wait, but some not for long, those that a signal has
/// ended.
pub fn find(process: &Process) -> Vec<Stuck> {
    if !process.state.is_own_end() {
        let stuck = at_the_end(process);
        let waits = |thread: usize| process.threads[thread].waiting_now.as_ref();
        let all_wait = living(process).all(|thread| waits(thread).is_some_and(is_for_good));
        if !stuck.is_empty() || !all_wait {
            return stuck;
        }
    }
    let mut stuck = interrupted::before_signal(process).map_or(Vec::new(), |p| at_the_end(&p));
    for one in &mut stuck {
        one.why.push_str(" A signal ended this, and soon after that the recording ended.");
    }
    stuck
}

fn at_the_end(process: &Process) -> Vec<Stuck> {
    let mut stuck = deadlocks(process);
    stuck.extend(abandoned::find(process));
    if stuck.is_empty() {
        let others = lost_wake_up(process).or_else(|| standstill(process));
        let others = others.or_else(|| held_wait::find(process));
        stuck.extend(others.or_else(|| polling::find(process)));
    }
    stuck
}

fn deadlocks(process: &Process) -> Vec<Stuck> {
    let mut stuck = Vec::new();
    for first in 0..process.threads.len() {
        let mut cycle: Vec<usize> = chain(process, first).skip(1).collect();
        let Some(length) = cycle.iter().position(|&thread| thread == first) else { continue };
        cycle.truncate(length);
        // Each cycle is reported only once, from its lowest thread on.
        if cycle.iter().any(|&thread| thread < first) {
            continue;
        }
        cycle.insert(0, first);
        stuck.push(deadlock(process, cycle));
    }
    stuck
}

fn deadlock(process: &Process, threads: Vec<usize>) -> Stuck {
    let lines: Vec<String> = threads.iter().map(|&number| link(process, number)).collect();
    Stuck { trap: Trap::Deadlock, seconds: shortest(process, &threads), why: text(&lines), threads }
}

/// The threads that wait for a condition, if every thread waits for good, so that no thread will
/// signal it; `None` otherwise.
fn lost_wake_up(process: &Process) -> Option<Stuck> {
    let for_good = |thread: usize| waiting(&process.threads[thread]).filter(|now| is_for_good(now));
    if !living(process).all(|thread| for_good(thread).is_some()) {
        return None;
    }
    let waits = |&thread: &usize| for_good(thread).is_some_and(|now| now.op == Op::CondWait);
    let threads: Vec<usize> = living(process).filter(waits).collect();
    if threads.is_empty() {
        return None;
    }
    let line = |&number: &usize| unsignalled(process, number);
    let mut lines: Vec<String> = threads.iter().map(line).collect();
    lines.push("no thread runs that could signal any more".to_owned());
    if are_at_own_locks(process, &threads) {
        lines.push(
            "each of these conditions has one waiter, and all wait at one call site: it may be a \
             deadlock of the program's own locks, or a pool of threads that all wait for tasks \
             which are still in the pool's queue"
                .to_owned(),
        );
    }
    let seconds = shortest(process, &threads);
    Some(Stuck { trap: Trap::LostWakeUp, seconds, why: text(&lines), threads })
}

/// Whether several threads wait at one call site, each for a condition of its own, as in locks that
/// a program makes of conditions.
fn are_at_own_locks(process: &Process, threads: &[usize]) -> bool {
    let now = |&thread: &usize| process.threads[thread].waiting_now.as_ref();
    let places: BTreeSet<_> =
        threads.iter().filter_map(now).map(|now| place(process, now)).collect();
    let conditions: BTreeSet<_> = threads.iter().filter_map(now).map(|now| now.lock).collect();
    threads.len() > 1 && places.len() == 1 && conditions.len() == threads.len()
}

/// All threads, if every thread has waited very long; `None` otherwise. No thread will continue,
/// unless a wait has a deadline that was not recorded.
fn standstill(process: &Process) -> Option<Stuck> {
    let threads: Vec<usize> = living(process).collect();
    if threads.is_empty() || threads.iter().any(|&thread| stands_still(process, thread).is_none()) {
        return None;
    }
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for &thread in &threads {
        let now = stands_still(process, thread)?;
        places
            .entry(format!("{} ({})", place(process, now), primitive(now.op.primitive())))
            .or_default()
            .push(thread);
    }
    let line = |(place, threads): (&String, &Vec<usize>)| match threads[..] {
        [thread] => format!("{} waits at {place}", thread_label(process, thread)),
        _ => format!("{} threads wait at {place}", threads.len()),
    };
    let mut lines: Vec<String> = places.iter().take(NAMED).map(line).collect();
    if places.len() > NAMED {
        lines.push(format!("and at {}", counted(places.len() - NAMED, "more call site")));
    }
    lines.push(
        "a lock that is never given back is often held by a thread that waits here too, or by a \
         thread that ended while holding it; only another process or a time-out could end these \
         waits"
            .to_owned(),
    );
    let seconds = shortest(process, &threads);
    Some(Stuck { trap: Trap::Standstill, seconds, why: text(&lines), threads })
}

#[cfg(test)]
mod tests {
    use syncline_recording::Primitive;

    use super::*;
    use crate::findings::testing::{Drawn, process, wait};
    use crate::model::{Span, State, WaitingNow};

    /// Four threads, some of which wait. Each entry is the index of a thread, that of the lock that
    /// it waits for, and that of the lock's holder.
    fn waits(all: &[(usize, usize, Option<usize>)]) -> Drawn {
        let mut drawn = process(10.0, 4);
        drawn.threads("worker", 3, 10.0);
        drawn.state = State::Unknown;
        for name in ["a", "b", "c"] {
            drawn.lock(Primitive::Mutex, name);
        }
        for thread in &mut drawn.threads {
            thread.ended = false;
        }
        for &(thread, lock, holder) in all {
            let address = drawn.locks[lock].address;
            drawn.threads[thread].waiting_now = Some(WaitingNow {
                op: Op::MutexLock,
                address,
                lock: Some(lock),
                stack: None,
                seconds: 2.0,
                holder,
                holder_stack: None,
            });
        }
        drawn
    }

    fn cycles(all: &[(usize, usize, Option<usize>)]) -> Vec<Vec<usize>> {
        find(&waits(all)).into_iter().map(|stuck| stuck.threads).collect()
    }

    #[test]
    fn a_cycle_is_a_deadlock_and_a_chain_is_not() {
        assert_eq!(cycles(&[(1, 0, Some(2)), (2, 1, Some(1))]), [[1, 2]]);
        let three = [(1, 0, Some(2)), (2, 1, Some(3)), (3, 2, Some(1))];
        assert_eq!(cycles(&three), [[1, 2, 3]]);
        assert_eq!(cycles(&[(1, 0, Some(1))]), [[1]], "its own lock");
        assert!(cycles(&[(1, 0, Some(2)), (2, 1, Some(3))]).is_empty(), "the third runs");
        let tail = [(3, 2, Some(1)), (1, 0, Some(2)), (2, 1, Some(1))];
        assert_eq!(cycles(&tail), [[1, 2]], "who waits for a cycle is no part of it");
    }

    #[test]
    fn the_only_other_thread_that_has_acquired_a_lock_holds_it() {
        let cycles = |acquirers: &[usize], change: &dyn Fn(&mut Drawn)| {
            let mut drawn = waits(&[(1, 0, None), (2, 1, Some(1))]);
            drawn.locks[0].threads = acquirers.iter().map(|&thread| (thread, 5)).collect();
            change(&mut drawn);
            find(&drawn).into_iter().map(|stuck| stuck.why).collect::<Vec<_>>()
        };
        let found = cycles(&[1, 2], &|_| ());
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("which only thread"), "{found:?}");
        assert!(cycles(&[1, 2, 3], &|_| ()).is_empty(), "the third may hold it");
        assert!(cycles(&[1], &|_| ()).is_empty());
        assert!(cycles(&[1, 2], &|drawn| drawn.attached = true).is_empty());
        assert!(cycles(&[1, 2], &|drawn| drawn.locks[0].sampled = true).is_empty());
    }

    #[test]
    fn a_lock_that_no_living_thread_holds_was_left_by_one_that_has_ended() {
        let traps = |change: &dyn Fn(&mut Drawn)| {
            let mut drawn = waits(&[(1, 0, None), (2, 0, None)]);
            drawn.locks[0].threads = vec![(1, 5), (2, 5), (3, 5)];
            drawn.threads[3].ended = true;
            change(&mut drawn);
            find(&drawn).into_iter().map(|stuck| (stuck.trap, stuck.threads)).collect::<Vec<_>>()
        };
        assert_eq!(traps(&|_| ()), [(Trap::AbandonedLock, vec![1, 2])]);
        assert!(traps(&|drawn| drawn.threads[3].ended = false).is_empty(), "the third may hold it");
        assert!(traps(&|drawn| drawn.locks[0].threads[2].1 = 0).is_empty(), "it never had it");
        assert!(traps(&|drawn| drawn.attached = true).is_empty());
        let held = traps(&|drawn| {
            for thread in [1, 2] {
                drawn.threads[thread].waiting_now.as_mut().unwrap().holder = Some(0);
            }
        });
        assert!(held.is_empty(), "the first thread holds it");
    }

    #[test]
    fn short_waits_and_ended_programs_have_no_deadlock() {
        let cycle = [(1, 0, Some(2)), (2, 1, Some(1))];
        let mut drawn = waits(&cycle);
        drawn.threads[1].waiting_now.as_mut().unwrap().seconds = 0.05;
        assert!(find(&drawn).is_empty());
        let mut drawn = waits(&cycle);
        for ended in [State::Exited { status: Some(0) }, State::Executed] {
            drawn.state = ended;
            assert!(find(&drawn).is_empty(), "{ended:?}");
        }
    }

    #[test]
    fn a_wake_up_is_lost_if_no_thread_runs() {
        let all = [(0, 0, None), (1, 1, None), (2, 1, None), (3, 1, None)];
        let condition = |drawn: &mut Drawn| {
            let now = drawn.threads[0].waiting_now.as_mut().unwrap();
            now.op = Op::CondWait;
        };
        let mut drawn = waits(&all);
        condition(&mut drawn);
        let found = find(&drawn);
        assert_eq!((found[0].trap, &found[0].threads[..]), (Trap::LostWakeUp, &[0][..]));
        let mut drawn = waits(&all[..3]);
        condition(&mut drawn);
        assert!(find(&drawn).is_empty(), "the third may signal");
        let mut drawn = waits(&all);
        condition(&mut drawn);
        drawn.threads[2].waiting_now.as_mut().unwrap().op = Op::CondTimedwait;
        assert!(find(&drawn).is_empty(), "and so may one whose wait runs out of time");
    }

    /// Modelled on Pykka: at Control-C, Python's first thread leaves its wait, only to join the
    /// others.
    #[test]
    fn a_signal_may_end_the_first_threads_wait_and_begin_the_next() {
        let stand_still = |next: Option<Op>, interrupted: bool| {
            let mut drawn = waits(&[(0, 0, None), (1, 1, None), (2, 1, None), (3, 1, None)]);
            drawn.threads[0].waiting_now = next.map(|op| WaitingNow {
                op,
                seconds: 0.0,
                ..drawn.threads[1].waiting_now.clone().expect("it waits")
            });
            let first = Span { interrupted, ..wait(Op::SemWait, 2.0, 9.9) };
            drawn.timeline.threads = vec![vec![first], Vec::new(), Vec::new(), Vec::new()];
            drawn.timeline.to = 10.0;
            find(&drawn).iter().any(|stuck| stuck.trap == Trap::Standstill)
        };
        assert!(stand_still(Some(Op::SemWait), true));
        assert!(!stand_still(Some(Op::SemWait), false), "another thread ended its wait");
        assert!(!stand_still(Some(Op::Sleep), true), "it continues by itself");
        assert!(!stand_still(None, true), "it runs");
    }

    /// Modelled on Berkeley DB, whose locks are made of a mutex and a condition each.
    #[test]
    fn waits_for_conditions_of_ones_own_may_be_a_deadlock() {
        let says = |conditions: [usize; 2]| {
            let all = [(0, 0, None), (1, conditions[0], None), (2, conditions[1], None)];
            let mut drawn = waits(&[&all[..], &[(3, 0, None)]].concat());
            for thread in [1, 2] {
                drawn.threads[thread].waiting_now.as_mut().unwrap().op = Op::CondWait;
            }
            find(&drawn)[0].why.contains("it may be a deadlock")
        };
        assert!(says([1, 2]));
        assert!(!says([1, 1]), "one condition");
    }

    /// Modelled on a runtime with a thread that waits in a futex for a lock that it holds itself.
    #[test]
    fn long_waits_of_all_threads_are_a_standstill() {
        let all = [(0, 0, None), (1, 1, None), (2, 1, None), (3, 1, None)];
        let with = |change: &dyn Fn(&mut WaitingNow)| {
            let mut drawn = waits(&all);
            for thread in &mut drawn.threads {
                thread.waiting_now.as_mut().unwrap().op = Op::FutexWait;
            }
            change(drawn.threads[2].waiting_now.as_mut().unwrap());
            find(&drawn)
        };
        let found = with(&|_| ());
        assert_eq!((found[0].trap, found[0].threads.len()), (Trap::Standstill, 4));
        assert!(found[0].why.starts_with("4 threads wait at an unknown place (futex);"));
        assert!(with(&|now| now.seconds = 0.9).is_empty(), "it may have just begun");
        assert!(with(&|now| now.op = Op::Sleep).is_empty(), "a thread keeps a clock");
        let mut drawn = waits(&all);
        drawn.threads[3].waiting_now = None;
        assert!(find(&drawn).is_empty(), "one runs, or is in the kernel");
    }
}
