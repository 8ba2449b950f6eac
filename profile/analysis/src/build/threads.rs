//! Threads: how long they lived, and how much of that they waited.

use std::collections::{BTreeMap, HashMap};

use syncline_recording::ProcessFile;
use syncline_recording::layout::{THREAD_EXITED, ThreadRecord};

use super::ops::takes_lock;
use super::spins::Spin;
use super::stacks::Stacks;
use super::tally::{Clock, Tally, waiting_op};
use crate::model::{Kind, Lock, Thread, Times, Waiting, WaitingNow};

/// The threads of a process.
pub fn threads(
    file: &ProcessFile,
    locks: &[Lock],
    spins: &[Spin],
    stacks: &mut Stacks,
    clock: &Clock,
) -> Vec<Thread> {
    let lock_places: HashMap<_, _> = locks
        .iter()
        .enumerate()
        .map(|(place, lock)| ((lock.primitive, lock.address), place))
        .collect();
    let places: HashMap<u32, usize> =
        file.threads.iter().enumerate().map(|(place, thread)| (thread.index, place)).collect();
    let mut threads = Vec::new();
    for (number, thread) in file.threads.iter().enumerate() {
        let record = &thread.record;
        // Otherwise the sum includes processor time from before its process was attached to.
        let is_known =
            file.header.attached == 0 || file.header.based != 0 || record.creator != u32::MAX;
        let mut waited_ticks = BTreeMap::new();
        let mut acquisitions = 0u64;
        let mut spun = 0u64;
        let rows = thread.rows.iter().map(|row| (row.op, Tally::of_row(row)));
        for (op, tally) in rows.chain(Tally::of_wait(record, clock)) {
            let sum: &mut u64 = waited_ticks.entry(op.primitive()).or_default();
            *sum = sum.saturating_add(tally.waited);
            spun = spun.saturating_add(tally.spun);
            if takes_lock(op) {
                acquisitions = acquisitions.saturating_add(tally.calls);
            }
        }
        let spins = spins.iter().filter(|spin| spin.thread == number);
        spun = spins.fold(spun, |sum, spin| sum.saturating_add(spin.ticks));
        let mut waiting = Waiting::default();
        for (&primitive, &ticks) in &waited_ticks {
            waiting.add(Kind::of(primitive), clock.seconds(ticks));
        }
        waited_ticks.retain(|_, ticks| *ticks > 0);
        let ended = record.state == THREAD_EXITED;
        let mut known = Thread {
            index: thread.index,
            tid: record.tid,
            name: record.name(),
            lifetimes: record.lifetimes,
            start_function: (record.start_function != 0)
                .then(|| stacks.symbols().function(record.start_function)),
            created_at: Some(stacks.checked(record.created_at)).filter(|&stack| stack != 0),
            creator: places.get(&record.creator).copied(),
            started: clock.since_start(record.started),
            seconds: clock.seconds(lifetime(record, clock)),
            ended,
            cpu: cpu(record, clock).filter(|_| is_known),
            ready: ready(record).filter(|_| is_known),
            spun: clock.seconds(spun),
            times: Times::default(),
            acquisitions,
            waiting,
            waited_for: waited_ticks
                .into_iter()
                .map(|(primitive, ticks)| (primitive, clock.seconds(ticks)))
                .collect(),
            waiting_now: waiting_op(record).map(|op| WaitingNow {
                op,
                address: record.waiting_lock,
                lock: lock_places.get(&(op.primitive(), record.waiting_lock)).copied(),
                stack: Some(stacks.checked(record.waiting_stack)).filter(|&stack| stack != 0),
                seconds: clock.seconds(clock.ended().saturating_sub(record.waiting_since)),
                holder: places.get(&record.waiting_holder.wrapping_sub(1)).copied(),
                holder_stack: Some(stacks.checked(record.waiting_holder_stack))
                    .filter(|&stack| stack != 0),
            }),
        };
        known.times = known.divided();
        threads.push(known);
    }
    threads
}

/// Whether the latest thread was sampled when its process ended, or was read.
fn looked_at(record: &ThreadRecord) -> bool {
    record.state != THREAD_EXITED && record.left_cpu_ns != 0
}

/// Processor time in seconds, if it is known.
pub fn cpu(record: &ThreadRecord, clock: &Clock) -> Option<f64> {
    match record.state {
        THREAD_EXITED => Some(seconds(record.cpu_ns)),
        _ if looked_at(record) => {
            Some(seconds(record.cpu_ns.saturating_add_unsigned(record.left_cpu_ns)))
        }
        _ => living_cpu(record, clock),
    }
}

fn ready(record: &ThreadRecord) -> Option<f64> {
    let left = if looked_at(record) { record.left_ready_ns } else { 0 };
    let known = record.state == THREAD_EXITED || looked_at(record);
    known.then_some(seconds(record.ready_ns.saturating_add_unsigned(left)))
}

/// Seconds of a sum of differences. The kernel's numbers of a thread that runs are some milliseconds old,
/// so one may be below zero.
fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds.max(0) as f64 / 1e9
}

/// Processor time of a thread whose end was not recorded, extrapolated from its last sample; `None`
/// if that was in the first half of its life.
fn living_cpu(record: &ThreadRecord, clock: &Clock) -> Option<f64> {
    let lived = clock.ended().saturating_sub(record.started) as f64;
    let seen = record.seen_cpu_at.saturating_sub(record.started) as f64;
    let goes_on = lived / seen.max(1.0);
    // Before the thread began there was more, or for one that was found, less.
    let (earlier, before) = (record.cpu_ns.max(0) as f64, record.cpu_ns.min(0) as f64);
    let used = (record.seen_cpu_ns as f64 + before).max(0.0);
    (record.seen_cpu_at != 0 && goes_on <= 2.0).then(|| (earlier + used * goes_on.max(1.0)) / 1e9)
}

/// Ticks that the threads of a record lived.
fn lifetime(record: &ThreadRecord, clock: &Clock) -> u64 {
    let ended = if record.ended != 0 { record.ended } else { clock.ended() };
    record.earlier_ticks.saturating_add(ended.saturating_sub(record.started))
}
