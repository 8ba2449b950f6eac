//! Threads that can't continue, according to what each waits for when the recording ends or is
//! read. A deadlock is a circle of threads, each of which waits for a lock that the next one holds.
//! If there is no deadlock, but all threads wait, some may wait for a condition whose last signal
//! came too early. If none does, and all threads have waited for long, all of them are reported.

use std::collections::{BTreeMap, BTreeSet};

use syncline_recording::Op;

use crate::model::{Kind, Process, Stuck, Thread, Trap, WaitingNow};
use crate::name;
use crate::name::primitive;
use syncline_present::number::{counted, grouped};

/// A wait that is shorter than this, in seconds, may be about to end.
const LONG: f64 = 0.1;

/// If all threads have waited this long, in seconds, a deadline that was not recorded is unlikely.
const VERY_LONG: f64 = 1.0;
/// The text about a standstill names at most this many call sites.
const NAMED: usize = 6;

/// Waits that have a deadline, or are for a given time.
const ENDS_BY_ITSELF: [Op; 6] = [
    Op::MutexTimedlock,
    Op::RwlockTimedRead,
    Op::RwlockTimedWrite,
    Op::CondTimedwait,
    Op::SemTimedwait,
    Op::Sleep,
];

/// All deadlocks; if there are none, other waits that will not end. Empty if the process has
/// exited or executed another program.
pub fn find(process: &Process) -> Vec<Stuck> {
    if process.state.is_own_end() {
        return Vec::new();
    }
    let mut stuck = deadlocks(process);
    if stuck.is_empty() {
        stuck.extend(lost_wake_up(process).or_else(|| standstill(process)));
    }
    stuck
}

/// What a thread waits for, if it has waited long enough.
fn waiting(thread: &Thread) -> Option<&WaitingNow> {
    thread.waiting_now.as_ref().filter(|now| !thread.ended && now.seconds >= LONG)
}

fn deadlocks(process: &Process) -> Vec<Stuck> {
    let next = |&thread: &usize| {
        let now = waiting(process.threads.get(thread)?)?;
        (Kind::of(now.op.primitive()) == Kind::Lock).then_some(now.holder).flatten()
    };
    let mut stuck = Vec::new();
    for first in 0..process.threads.len() {
        let way = std::iter::successors(Some(first), next).skip(1);
        let mut circle: Vec<usize> = way.take(process.threads.len()).collect();
        let Some(length) = circle.iter().position(|&thread| thread == first) else { continue };
        circle.truncate(length);
        // Each circle is reported only once, from its lowest thread on.
        if circle.iter().any(|&thread| thread < first) {
            continue;
        }
        circle.insert(0, first);
        stuck.push(deadlock(process, circle));
    }
    stuck
}

fn deadlock(process: &Process, threads: Vec<usize>) -> Stuck {
    let line = |&number: &usize| {
        let now = process.threads[number].waiting_now.as_ref().expect("it waits");
        let holder = now.holder.expect("somebody holds it");
        let whose =
            if holder == number { "itself".to_owned() } else { thread_label(process, holder) };
        format!(
            "{} waits at {} for {}, which {whose} holds from {}",
            thread_label(process, number),
            place(process, now),
            lock(process, now),
            name::stack(process, now.holder_stack.unwrap_or(0)),
        )
    };
    let lines: Vec<String> = threads.iter().map(line).collect();
    Stuck { trap: Trap::Deadlock, seconds: shortest(process, &threads), why: text(&lines), threads }
}

/// The threads that wait for a condition, if every thread waits for good, so that no thread will
/// signal it; `None` otherwise.
fn lost_wake_up(process: &Process) -> Option<Stuck> {
    let for_good = |thread: usize| {
        let now = waiting(&process.threads[thread])?;
        // A wait in a futex may have a deadline.
        (!ENDS_BY_ITSELF.contains(&now.op) && now.op != Op::FutexWait).then_some(now)
    };
    if !living(process).all(|thread| for_good(thread).is_some()) {
        return None;
    }
    let waits = |&thread: &usize| for_good(thread).is_some_and(|now| now.op == Op::CondWait);
    let threads: Vec<usize> = living(process).filter(waits).collect();
    if threads.is_empty() {
        return None;
    }
    let line = |&number: &usize| {
        let now = process.threads[number].waiting_now.as_ref().expect("it waits");
        let object = now.lock.map(|lock| &process.locks[lock]);
        let signals = object
            .into_iter()
            .flat_map(|lock| &lock.sites)
            .filter(|used| matches!(used.op, Op::CondSignal | Op::CondBroadcast));
        let signalled = match signals.max_by_key(|used| used.calls) {
            Some(used) => format!(
                "whose last signal (of {}, from {}) came before the wait or woke another thread",
                grouped(used.calls),
                name::site(process, &process.sites[used.site])
            ),
            None => "which no thread ever signalled".to_owned(),
        };
        format!(
            "{} waits at {} for {}, {signalled}",
            thread_label(process, number),
            place(process, now),
            lock(process, now),
        )
    };
    let mut lines: Vec<String> = threads.iter().map(line).collect();
    lines.push("no thread runs that could signal any more".to_owned());
    if are_at_own_locks(process, &threads) {
        lines.push(
            "each of these conditions has one waiter, and all wait at one call site: if it is the \
             program's own lock, which is made of such conditions, it may be a deadlock"
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
    let for_good = |thread: usize| {
        let now = waiting(&process.threads[thread]);
        now.filter(|now| now.seconds >= VERY_LONG && !ENDS_BY_ITSELF.contains(&now.op))
    };
    let threads: Vec<usize> = living(process).collect();
    if threads.is_empty() || threads.iter().any(|&thread| for_good(thread).is_none()) {
        return None;
    }
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for &thread in &threads {
        let now = for_good(thread)?;
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

fn living(process: &Process) -> impl Iterator<Item = usize> {
    (0..process.threads.len()).filter(|&thread| !process.threads[thread].ended)
}

/// The call site where a thread waits, as text.
fn place(process: &Process, now: &WaitingNow) -> String {
    now.stack.map_or_else(|| "an unknown place".to_owned(), |s| name::stack(process, s))
}

fn shortest(process: &Process, threads: &[usize]) -> f64 {
    let seconds = threads.iter().filter_map(|&t| process.threads[t].waiting_now.as_ref());
    seconds.map(|now| now.seconds).fold(f64::INFINITY, f64::min)
}

fn thread_label(process: &Process, thread: usize) -> String {
    let thread = &process.threads[thread];
    format!("thread {} ({})", thread.tid, thread.name)
}

fn lock(process: &Process, now: &WaitingNow) -> String {
    let unnamed = || format!("{} {:#x}", primitive(now.op.primitive()), now.address);
    now.lock.map_or_else(unnamed, |lock| name::lock(&process.locks[lock]))
}

fn text(lines: &[String]) -> String {
    format!("{}.", lines.join("; "))
}

#[cfg(test)]
mod tests {
    use syncline_recording::Primitive;

    use super::*;
    use crate::findings::testing::{Drawn, process};
    use crate::model::State;

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

    fn circles(all: &[(usize, usize, Option<usize>)]) -> Vec<Vec<usize>> {
        find(&waits(all)).into_iter().map(|stuck| stuck.threads).collect()
    }

    #[test]
    fn a_cycle_is_a_deadlock_and_a_chain_is_not() {
        assert_eq!(circles(&[(1, 0, Some(2)), (2, 1, Some(1))]), [[1, 2]]);
        let three = [(1, 0, Some(2)), (2, 1, Some(3)), (3, 2, Some(1))];
        assert_eq!(circles(&three), [[1, 2, 3]]);
        assert_eq!(circles(&[(1, 0, Some(1))]), [[1]], "its own lock");
        assert!(circles(&[(1, 0, Some(2)), (2, 1, Some(3))]).is_empty(), "the third runs");
        let tail = [(3, 2, Some(1)), (1, 0, Some(2)), (2, 1, Some(1))];
        assert_eq!(circles(&tail), [[1, 2]], "who waits for a circle is no part of it");
    }

    #[test]
    fn short_waits_and_ended_programs_have_no_deadlock() {
        let circle = [(1, 0, Some(2)), (2, 1, Some(1))];
        let mut drawn = waits(&circle);
        drawn.threads[1].waiting_now.as_mut().unwrap().seconds = 0.05;
        assert!(find(&drawn).is_empty());
        let mut drawn = waits(&circle);
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
