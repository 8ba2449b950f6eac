//! Threads: how long they lived, and how much of that time they waited.

use std::collections::{BTreeMap, HashMap};

use syncline_recording::layout::THREAD_EXITED;
use syncline_recording::{ProcessFile, SampledProcess};

use super::clock::Clock;
use super::holds::Interruptions;
use super::ops::takes_lock;
use super::processor::{cpu, lifetime, ready};
use super::profile;
use super::seen::Spent;
use super::stacks::Stacks;
use super::tally::{Tally, waiting_op};
use crate::model::{Kind, Lock, TakingPart, Thread, Times, Waiting, WaitingNow};

/// The threads of a process.
pub fn threads(
    file: &ProcessFile,
    samples: Option<&SampledProcess>,
    locks: &[Lock],
    spins: &[Spent],
    taking_part: Vec<Option<TakingPart>>,
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
    let mut slices: HashMap<usize, u64> = HashMap::new();
    let mut mostly: HashMap<usize, String> = HashMap::new();
    for (process, sampled) in samples.iter().flat_map(|p| p.threads.iter().map(move |t| (p, t))) {
        let Some(place) = file.place_of(sampled.tid) else { continue };
        if sampled.slices > 0 {
            *slices.entry(place).or_default() += sampled.slices;
        }
        mostly
            .extend(profile::mostly(process, sampled, stacks.symbols()).map(|most| (place, most)));
    }
    let mut threads = Vec::new();
    for ((number, thread), first) in file.threads.iter().enumerate().zip(taking_part) {
        let record = &thread.record;
        // If this is false, the processor time may include time from before Syncline attached to
        // the process.
        let is_known =
            file.header.attached == 0 || file.header.based != 0 || record.creator != u32::MAX;
        let mut waited_ticks = BTreeMap::new();
        let mut acquisitions = 0u64;
        let mut spun = 0u64;
        let interruptions = Interruptions::of(record, clock);
        let rows = thread.rows.iter().map(|row| (row.op, Tally::of_row(row, interruptions)));
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
            slices: slices.get(&number).copied(),
            mostly: mostly.remove(&number),
            spun: clock.seconds(spun),
            times: Times::default(),
            first,
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
                stack: Some(stacks.of_call(
                    Some(number),
                    record.waiting_stack,
                    record.waiting_lock,
                ))
                .filter(|&stack| stack != 0),
                seconds: clock.seconds(clock.ended().saturating_sub(record.waiting_since)),
                holder: places.get(&record.waiting_holder.wrapping_sub(1)).copied(),
                holder_stack: Some(stacks.of_call(
                    None,
                    record.waiting_holder_stack,
                    record.waiting_lock,
                ))
                .filter(|&stack| stack != 0),
            }),
        };
        known.times = known.divided();
        threads.push(known);
    }
    threads
}
