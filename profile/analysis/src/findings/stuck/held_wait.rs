//! A likely deadlock: the holder of a lock waits for an event, a thread waits for the lock, and no
//! thread is known that could bring the event about.
//!
//! The thread that would do so is often the one that waits for the lock. That is not certain: a
//! thread that sleeps in a system call may do it as well, once the call returns. So the finding
//! says which threads sleep in system calls.

use std::collections::BTreeSet;

use syncline_recording::Op;

use super::waits::{
    NAMED, Repeated, VERY_LONG, chain, is_for_good, link, living, repeated, shortest, signalled,
    signals, text, thread_label, unsignalled, waiting,
};
use crate::model::{InCall, Lock, Process, SiteUse, Stuck, Trap};
use crate::name;

/// System calls in which a thread waits for room, and not for input.
const OUTPUT: [&str; 6] = ["write", "writev", "pwrite64", "sendto", "sendmsg", "sendfile"];
/// A thread has been asleep all the time if it slept for at least this share of it: its sleep is an
/// estimate from samples.
const ALL: f64 = 0.8;

/// A wait for an event.
struct Event {
    /// The object, as an index of [`Process::locks`].
    object: usize,
    /// How long the thread has waited, in seconds.
    seconds: f64,
    /// The thread and what it waits for, as text.
    text: String,
}

/// The finding for the longest chain of threads that ends with one that waits for an event. `None` if
/// there is no chain, if a thread in it has waited for less than [`VERY_LONG`], or if another thread
/// may bring the event about.
pub fn find(process: &Process) -> Option<Stuck> {
    let chains = living(process).filter_map(|first| chain_to_event(process, first));
    let (threads, event) = chains.max_by_key(|(threads, _)| threads.len())?;
    let (_, others) = threads.split_last()?;
    let seconds = shortest(process, others).min(event.seconds);
    if seconds < VERY_LONG || !is_left_alone(process, &threads, &event, seconds) {
        return None;
    }
    let mut lines: Vec<String> = others.iter().map(|&thread| link(process, thread)).collect();
    lines.push(event.text);
    let asleep = living(process).filter(|thread| !threads.contains(thread)).filter_map(|thread| {
        let call = calls(process, thread).next()?;
        Some(format!("{} sleeps in {} at {}", thread_label(process, thread), call.call, call.place))
    });
    lines.extend(asleep.take(NAMED));
    lines.push(
        "if the event has to come from one of the threads that wait for the lock, none of them \
         ever continues: don't hold the lock while waiting for events"
            .to_owned(),
    );
    Some(Stuck { trap: Trap::LikelyDeadlock, seconds, why: text(&lines), threads })
}

/// The threads from `first` on, each of which waits for the next one. The last waits for an event.
fn chain_to_event(process: &Process, first: usize) -> Option<(Vec<usize>, Event)> {
    let threads: Vec<usize> = chain(process, first).collect();
    let &last = threads.last().filter(|_| threads.len() > 1)?;
    let event = one_wait(process, last).or_else(|| repeated_wait(process, last))?;
    Some((threads, event))
}

/// A thread's wait for an event without a time-out.
fn one_wait(process: &Process, thread: usize) -> Option<Event> {
    let now = waiting(&process.threads[thread])?;
    let object = now.lock.filter(|_| matches!(now.op, Op::CondWait | Op::SemWait))?;
    Some(Event { object, seconds: now.seconds, text: unsignalled(process, thread) })
}

/// A thread's repeated waits for one object, all with a time-out, until the end of the recording.
fn repeated_wait(process: &Process, thread: usize) -> Option<Event> {
    let Repeated { last, seconds, .. } = repeated(process, thread, Op::CondTimedwait)?;
    let object = last.lock?;
    let lock = &process.locks[object];
    let signal = match is_interpreters(lock) {
        true => "which a thread that itself waits does not give back".to_owned(),
        false => signalled(process, Some(object)),
    };
    let text = format!(
        "{} waits again and again at {} for {}, {signal}",
        thread_label(process, thread),
        name::site(process, &process.sites[last.site?]),
        name::lock(lock),
    );
    Some(Event { object, seconds, text })
}

/// Whether no other thread seems able to bring about the event that the last thread of a chain waits
/// for. A thread that waits for something else can't, unless its wait may end by itself: a time-out,
/// a sleep, a futex. Nor can a thread that has slept in a system call for nearly all of this time,
/// unless it has signalled such an event before. If no thread has, a thread that sleeps until input
/// comes may be the first. As for an interpreter's lock: a thread that waits or sleeps has given it
/// back before, or keeps it until it continues.
fn is_left_alone(process: &Process, chain: &[usize], event: &Event, seconds: f64) -> bool {
    let is_interpreters = is_interpreters(&process.locks[event.object]);
    let signallers = match is_interpreters {
        true => BTreeSet::new(),
        false => signallers(process, event.object),
    };
    let is_asleep = |thread: usize| {
        let calls = || calls(process, thread);
        let slept: f64 = calls().map(|call| call.seconds / call.threads.len() as f64).sum();
        let waits_for_input = calls().any(|call| !OUTPUT.contains(&call.call.as_str()));
        let may_signal = waits_for_input && signallers.is_empty() && !is_interpreters;
        slept >= ALL * seconds && !may_signal
    };
    let cannot = |thread: usize| match waiting(&process.threads[thread]) {
        Some(_) if is_interpreters => true,
        Some(now) => is_for_good(now),
        None => is_asleep(thread) && !signallers.contains(&thread),
    };
    living(process).filter(|thread| !chain.contains(thread)).all(cannot)
}

/// The system calls in which a thread has slept.
fn calls(process: &Process, thread: usize) -> impl Iterator<Item = &InCall> {
    process.asleep.iter().filter(move |call| call.threads.contains(&thread))
}

/// Whether a condition variable is that of CPython's global interpreter lock.
fn is_interpreters(object: &Lock) -> bool {
    object.name == name::INTERPRETER_LOCK
}

/// The threads that have signalled this object, or another one for which threads wait at the same
/// call sites.
fn signallers(process: &Process, object: usize) -> BTreeSet<usize> {
    let waits = |used: &&SiteUse| matches!(used.op, Op::CondWait | Op::CondTimedwait | Op::SemWait);
    let sites = |object: &Lock| -> BTreeSet<usize> {
        object.sites.iter().filter(waits).map(|used| used.site).collect()
    };
    let here = sites(&process.locks[object]);
    let alike = process.locks.iter().filter(|object| !sites(object).is_disjoint(&here));
    alike.flat_map(signals).flat_map(|used| &used.by_thread).map(|&(thread, _)| thread).collect()
}

#[cfg(test)]
mod tests {
    use syncline_recording::Primitive;

    use super::*;
    use crate::findings::testing::{Drawn, Use, process, wait};
    use crate::model::{Span, State, WaitingNow};

    /// Modelled on libevent 2.0: the first thread deletes an event with a lock of its buffer held
    /// and waits until the loop is done with the event; the loop waits for the lock. A third thread
    /// sleeps in a system call.
    fn drawn(call: &str) -> Drawn {
        let mut drawn = process(10.0, 4);
        drawn.state = State::Unknown;
        drawn.threads("loop", 1, 10.0);
        drawn.threads("produce", 1, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "buffer");
        let event = drawn.lock(Primitive::Condvar, "done");
        for thread in &mut drawn.threads {
            thread.ended = false;
        }
        let site = drawn.site(Op::CondWait, "event_del at event.c:20");
        drawn.uses(event, site, Use { waits: 1, ..Use::default() });
        let waits = |op, lock: usize, holder| WaitingNow {
            op,
            address: 0x1000,
            lock: Some(lock),
            stack: None,
            seconds: 5.0,
            holder,
            holder_stack: None,
        };
        drawn.threads[0].waiting_now = Some(waits(Op::CondWait, event, None));
        drawn.threads[1].waiting_now = Some(waits(Op::MutexLock, lock, Some(0)));
        drawn.asleep.push(InCall {
            call: call.to_owned(),
            place: "produce at feed.c:57".to_owned(),
            seconds: 4.9,
            threads: vec![2],
            stack: 0,
        });
        drawn
    }

    #[test]
    fn the_chain_and_the_sleeping_threads_are_named() {
        let found = find(&drawn("write")).expect("nobody signals");
        assert_eq!((found.trap, &found.threads[..]), (Trap::LikelyDeadlock, &[1, 0][..]));
        assert!(found.why.contains("which no thread ever signalled"), "{}", found.why);
        assert!(found.why.contains("sleeps in write at produce at feed.c:57"), "{}", found.why);
    }

    #[test]
    fn a_thread_that_may_signal_prevents_the_finding() {
        assert!(find(&drawn("poll")).is_none(), "input may come");
        let mut runs = drawn("write");
        runs.asleep[0].seconds = 3.0;
        assert!(find(&runs).is_none(), "it did not sleep all the time");
        for timed in [Op::CondTimedwait, Op::Sleep] {
            let mut drawn = drawn("write");
            let mut now = drawn.threads[0].waiting_now.clone().unwrap();
            now.op = timed;
            drawn.threads[2].waiting_now = Some(now);
            assert!(find(&drawn).is_none(), "{timed:?}");
        }
        let mut brief = drawn("write");
        brief.threads[0].waiting_now.as_mut().unwrap().seconds = 0.9;
        assert!(find(&brief).is_none());
    }

    #[test]
    fn earlier_signals_show_who_signals() {
        let signalled_by = |thread: usize, call: &str| {
            let mut drawn = drawn(call);
            let site = drawn.site(Op::CondSignal, "run at event.c:90");
            drawn.uses(1, site, Use { calls: 3, ..Use::default() });
            let used = drawn.locks[1].sites.last_mut().unwrap();
            used.by_thread = vec![(thread, 3)];
            find(&drawn).is_some()
        };
        assert!(signalled_by(1, "poll"), "the loop did, and waits for the lock");
        assert!(!signalled_by(2, "write"), "the thread that sleeps did");
    }

    /// Modelled on Python's sqlite3: the first thread has a connection's mutex and waits for the
    /// interpreter's lock, for 5 ms again and again; the other one has the interpreter's lock.
    #[test]
    fn repeated_waits_with_a_time_out_count_as_one_wait() {
        let found = |gap: f64, name: &str| {
            let mut drawn = drawn("poll");
            drawn.threads[0].waiting_now = None;
            drawn.locks[1].name = name.to_owned();
            let look = |number: u32| {
                let began = 5.0 + (0.005 + gap) * f64::from(number);
                let wait = wait(Op::CondTimedwait, began, began + 0.005);
                Span { lock: Some(1), site: Some(0), ..wait }
            };
            drawn.timeline.threads = vec![(0..900).map(look).collect()];
            drawn.timeline.to = 5.0 + (0.005 + gap) * 900.0;
            find(&drawn)
        };
        let of_interpreter = found(0.0005, name::INTERPRETER_LOCK).expect("it waits all the time");
        assert!(of_interpreter.why.contains("waits again and again at"), "{}", of_interpreter.why);
        assert!((4.8..5.0).contains(&of_interpreter.seconds), "{}", of_interpreter.seconds);
        assert!(found(0.02, name::INTERPRETER_LOCK).is_none(), "it does something in between");
        assert!(found(0.0005, "a condition").is_none(), "the third may signal");
    }

    /// A thread that joins another waits for its end.
    #[test]
    fn a_chain_may_contain_joins() {
        let mut drawn = drawn("write");
        let mut join = drawn.threads[1].waiting_now.clone().unwrap();
        (join.op, join.holder) = (Op::ThreadJoin, Some(1));
        drawn.threads[2].waiting_now = Some(join);
        assert_eq!(find(&drawn).unwrap().threads, [2, 1, 0]);
    }
}
