//! What each thread waits for, and how that is said.

use syncline_present::number::grouped;
use syncline_recording::Op;

use crate::model::{Activity, Kind, Lock, Process, SiteUse, Span, Thread, WaitingNow};
use crate::name;
use crate::name::primitive;

/// A wait that is shorter than this, in seconds, may be about to end.
pub const LONG: f64 = 0.1;

/// If all threads have waited this long, in seconds, a deadline that was not recorded is unlikely.
pub const VERY_LONG: f64 = 1.0;

/// A wait is repeated if the next one begins within this many seconds.
const AT_ONCE: f64 = 0.01;

/// The text about a standstill names at most this many call sites.
pub const NAMED: usize = 6;

/// Waits that have a deadline, or are for a given time.
pub const ENDS_BY_ITSELF: [Op; 6] = [
    Op::MutexTimedlock,
    Op::RwlockTimedRead,
    Op::RwlockTimedWrite,
    Op::CondTimedwait,
    Op::SemTimedwait,
    Op::Sleep,
];

/// What a thread waits for, if it has waited long enough.
pub fn waiting(thread: &Thread) -> Option<&WaitingNow> {
    thread.waiting_now.as_ref().filter(|now| !thread.ended && now.seconds >= LONG)
}

/// Whether a wait ends only by what other threads do. A wait in a futex may have a deadline.
pub fn is_for_good(now: &WaitingNow) -> bool {
    !ENDS_BY_ITSELF.contains(&now.op) && now.op != Op::FutexWait
}

/// What a thread waits for, if it has waited very long, and without a deadline that was recorded.
pub fn stands_still(process: &Process, thread: usize) -> Option<&WaitingNow> {
    let now = waiting(&process.threads[thread]);
    now.filter(|now| now.seconds >= VERY_LONG && !ENDS_BY_ITSELF.contains(&now.op))
}

/// A thread's waits for one object, one right after the other, until the end of the recording.
pub struct Repeated<'a> {
    /// The last of them.
    pub last: &'a Span,
    /// How many of them the log has.
    pub number: u64,
    /// Seconds from the beginning of the first of these to the end of the recording.
    pub seconds: f64,
}

/// The last waits of a thread, if they are of this operation and for one object.
pub fn repeated(process: &Process, thread: usize, op: Op) -> Option<Repeated<'_>> {
    let timeline = &process.timeline;
    let waits = timeline.threads.get(thread)?.iter();
    let mut waits = waits.rev().filter(|span| span.activity == Activity::Wait);
    let last = waits.next().filter(|span| span.op == op)?;
    if timeline.to - last.ended >= VERY_LONG / 2.0 {
        return None;
    }
    let (mut began, mut number) = (last.began, 1);
    for earlier in waits.take_while(|span| span.lock == last.lock && span.op == op) {
        if began - earlier.ended > AT_ONCE {
            break;
        }
        began = earlier.began;
        number += 1;
    }
    Some(Repeated { last, number, seconds: timeline.to - began })
}

/// The thread without which a thread can't continue: the holder of the lock that it waits for, or
/// the thread that it joins.
pub fn waits_for(process: &Process, thread: usize) -> Option<usize> {
    let now = waiting(process.threads.get(thread)?)?;
    match Kind::of(now.op.primitive()) {
        Kind::Lock => now.holder.or_else(|| only_possible_holder(process, now)),
        _ => now.holder.filter(|_| now.op == Op::ThreadJoin),
    }
}

/// The threads from `first` on, each of which waits for the next one, at most as many as there are.
pub fn chain(process: &Process, first: usize) -> impl Iterator<Item = usize> {
    let next = |&thread: &usize| waits_for(process, thread);
    std::iter::successors(Some(first), next).take(process.threads.len() + 1)
}

/// The only thread that has ever acquired the lock of a wait and does not wait for it now; `None` if
/// there are several, or if the list of acquirers may be incomplete: the lock's uses were only
/// sampled, or the process ran already when its recording began.
fn only_possible_holder(process: &Process, now: &WaitingNow) -> Option<usize> {
    let number = now.lock?;
    let lock = &process.locks[number];
    let waits_for_it = |thread: usize| {
        process.threads[thread].waiting_now.as_ref().is_some_and(|now| now.lock == Some(number))
    };
    let acquirers = lock.threads.iter().map(|&(thread, _)| thread);
    let mut holders = acquirers.filter(|&thread| !waits_for_it(thread));
    let holder = holders.next().filter(|_| !lock.sampled && !process.attached)?;
    holders.next().is_none().then_some(holder)
}

/// The text for a thread that waits for another one.
pub fn link(process: &Process, number: usize) -> String {
    let now = process.threads[number].waiting_now.as_ref().expect("it waits");
    let other = waits_for(process, number).expect("for a thread");
    let who = if other == number { "itself".to_owned() } else { thread_label(process, other) };
    let waits = format!("{} waits at {}", thread_label(process, number), place(process, now));
    if now.op == Op::ThreadJoin {
        return format!("{waits} for the end of {who}");
    }
    let waits = format!("{waits} for {}", lock(process, now));
    match now.holder {
        Some(_) => {
            let from = name::stack(process, now.holder_stack.unwrap_or(0));
            format!("{waits}, which {who} holds from {from}")
        }
        None => format!(
            "{waits}, which only {who} can hold: every other thread that has acquired it waits for it"
        ),
    }
}

/// The text for a thread that waits for an event which no thread brings about.
pub fn unsignalled(process: &Process, number: usize) -> String {
    let now = process.threads[number].waiting_now.as_ref().expect("it waits");
    format!(
        "{} waits at {} for {}, {}",
        thread_label(process, number),
        place(process, now),
        lock(process, now),
        signalled(process, now.lock),
    )
}

/// The text for the signals to an object, none of which ended the wait.
pub fn signalled(process: &Process, object: Option<usize>) -> String {
    let signals = || object.into_iter().flat_map(|object| signals(&process.locks[object]));
    match signals().max_by_key(|used| used.calls) {
        Some(most) => format!(
            "which was signalled {} from {}, but before the wait, or another thread was woken",
            times(signals().map(|used| used.calls).sum()),
            name::site(process, &process.sites[most.site])
        ),
        None => "which no thread ever signalled".to_owned(),
    }
}

/// How often something was done, as text.
fn times(number: u64) -> String {
    if number == 1 { "once".to_owned() } else { format!("{} times", grouped(number)) }
}

/// The calls that end waits for an object.
pub fn signals(object: &Lock) -> impl Iterator<Item = &SiteUse> {
    let used = object.sites.iter();
    used.filter(|used| matches!(used.op, Op::CondSignal | Op::CondBroadcast | Op::SemPost))
}

pub fn living(process: &Process) -> impl Iterator<Item = usize> {
    (0..process.threads.len()).filter(|&thread| !process.threads[thread].ended)
}

/// The call site where a thread waits, as text.
pub fn place(process: &Process, now: &WaitingNow) -> String {
    now.stack.map_or_else(|| "an unknown place".to_owned(), |s| name::stack(process, s))
}

pub fn shortest(process: &Process, threads: &[usize]) -> f64 {
    let seconds = threads.iter().filter_map(|&t| process.threads[t].waiting_now.as_ref());
    seconds.map(|now| now.seconds).fold(f64::INFINITY, f64::min)
}

pub fn thread_label(process: &Process, thread: usize) -> String {
    let thread = &process.threads[thread];
    format!("thread {} ({})", thread.tid, thread.name)
}

pub fn lock(process: &Process, now: &WaitingNow) -> String {
    let unnamed = || format!("{} {:#x}", primitive(now.op.primitive()), now.address);
    now.lock.map_or_else(unnamed, |lock| name::lock(&process.locks[lock]))
}

pub fn text(lines: &[String]) -> String {
    format!("{}.", lines.join("; "))
}
