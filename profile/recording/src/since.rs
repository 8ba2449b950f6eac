//! Computes a process's figures in a window of time: the difference of two readings of its
//! recording.
//!
//! - The counters of the earlier reading are subtracted, row by row. A row is identified by its
//!   thread, operation, call site, stack and lock.
//! - A wait that began before the window counts only from the window's beginning on.
//! - Events of the log that ended before the window are left out, and those that began before it
//!   are cut.
//! - A maximum can't be subtracted. If it has grown, it belongs to the window. If not, the longest
//!   wait is limited by the window's histogram and sum, and the mean stands in for the longest
//!   hold.
//! - A fact about an object, such as the first value of a semaphore, stays as it is.

use std::collections::{HashMap, HashSet};

use crate::layout::{
    self, APART, BUCKETS, Blocker, FIRST_BUCKET_LOG2, NestRecord, THREAD_EXITED, ThreadRecord,
    WaitRecord,
};
use crate::op::{Class, Op};
use crate::process::{ProcessFile, Row, Thread};

/// Subtracts the named fields of the record `$was` from those of `$now`.
macro_rules! less {
    ($now:ident, $was:expr; $($field:ident),+ $(,)?) => {
        $($now.$field = $now.$field.saturating_sub($was.$field);)+
    };
}

/// What identifies a row of a thread: lock, return address, key and stack. A row may get [`APART`]
/// between two readings.
type Key = (u64, u64, u64, u32);

fn key(row: &Row) -> Key {
    let counts = &row.counts;
    (counts.lock, counts.ret, counts.key & !APART, counts.stack)
}

impl ProcessFile {
    /// The figures since `before`, an earlier reading of the same process. If `before` is a reading
    /// of another process, the result has all figures.
    #[must_use]
    pub fn since(mut self, before: &ProcessFile) -> ProcessFile {
        if !self.is_same_process(before) {
            return self;
        }
        let from = before.ended();
        let header = &mut self.header;
        let passed = from.saturating_sub(header.started) as f64;
        header.started_realtime += (passed / header.ticks_per_second as f64 * 1e9) as u64;
        (header.started, header.based) = (from, 1);
        let was = &before.header;
        less!(header, was; dropped_operations, dropped_waits, interrupted_operations, acquired_before);
        for (region, was) in [
            (&mut header.modules, &was.modules),
            (&mut header.threads, &was.threads),
            (&mut header.stacks, &was.stacks),
        ] {
            less!(region, was; dropped);
        }
        let threads: HashMap<u32, &Thread> = before.threads.iter().map(|t| (t.index, t)).collect();
        self.threads.retain_mut(|thread| {
            cut_log(thread, from);
            match threads.get(&thread.index) {
                Some(was) if ended_before(&thread.record, &was.record) => false,
                Some(was) => {
                    thread.rows = rows_since(thread, was, from);
                    thread.record = record_since(&thread.record, &was.record, from);
                    true
                }
                None => true,
            }
        });
        self
    }

    /// Whether another reading of a file is one of the same process.
    pub(crate) fn is_same_process(&self, other: &ProcessFile) -> bool {
        let same = |file: &ProcessFile| {
            (file.header.pid, file.header.started, file.header.started_realtime)
        };
        same(self) == same(other)
    }
}

/// Whether a thread had ended by the earlier reading, and no other thread has taken over its record
/// since.
fn ended_before(now: &ThreadRecord, was: &ThreadRecord) -> bool {
    was.state == THREAD_EXITED && now.lifetimes == was.lifetimes
}

/// Removes the events that ended before the window (before `from`) from a log, and cuts those that
/// began before it.
fn cut_log(thread: &mut Thread, from: u64) {
    thread.log.retain(|event| event.ended > from);
    for event in &mut thread.log {
        event.began = event.began.max(from);
    }
}

fn record_since(now: &ThreadRecord, was: &ThreadRecord, from: u64) -> ThreadRecord {
    let mut record = *now;
    // If the thread lived at the earlier reading and its processor time was not measured then, its
    // processor time in the window is unknown.
    let unknown = was.state != THREAD_EXITED && was.left_cpu_ns == 0;
    let is_same = now.lifetimes == was.lifetimes;
    less!(record, was; cpu_ns, ready_ns);
    if !is_same || now.state == THREAD_EXITED {
        // If a thread lived at the earlier reading, it has ended since. The sums have all its
        // processor time, so the part before the window is subtracted.
        record.cpu_ns = record.cpu_ns.saturating_sub_unsigned(was.left_cpu_ns);
        record.ready_ns = record.ready_ns.saturating_sub_unsigned(was.left_ready_ns);
    } else if unknown {
        (record.left_cpu_ns, record.left_ready_ns) = (0, 0);
    } else {
        less!(record, was; left_cpu_ns, left_ready_ns);
    }
    if is_same {
        record.earlier_ticks = 0;
        record.started = now.started.max(from);
    } else {
        let lived = if was.state == THREAD_EXITED { was.ended } else { from };
        let lived = was.earlier_ticks.saturating_add(lived.saturating_sub(was.started));
        record.earlier_ticks = now.earlier_ticks.saturating_sub(lived);
        record.lifetimes = now.lifetimes.saturating_sub(was.lifetimes).max(1);
    }
    record.seen_cpu_at = 0;
    record.logged = now.logged.saturating_sub(was.logged);
    if record.waiting_op != 0 {
        record.waiting_since = record.waiting_since.max(from);
    }
    record
}

fn rows_since(now: &Thread, was: &Thread, from: u64) -> Vec<Row> {
    let earlier: HashMap<Key, &Row> = was.rows.iter().map(|row| (key(row), row)).collect();
    let mut owed: HashMap<(u64, Op), [u64; 2]> = HashMap::new();
    let mut rows: Vec<Row> = Vec::with_capacity(now.rows.len());
    for row in &now.rows {
        let Some(was) = earlier.get(&key(row)) else {
            rows.push(row.clone());
            continue;
        };
        let missing = [
            was.counts.calls.saturating_sub(row.counts.calls),
            was.refused().saturating_sub(row.refused()),
        ];
        if missing != [0, 0] {
            let sums = owed.entry((row.counts.ret, row.op)).or_default();
            sums.iter_mut().zip(missing).for_each(|(sum, missing)| *sum += missing);
        }
        rows.push(row_since(row, was));
    }
    pay(&mut rows, owed);
    wait_from(&mut rows, &now.record, &was.record, from);
    let is_used = |row: &Row| {
        let waited = row.waits.as_ref().is_some_and(|waits| waits.waits > 0);
        row.counts.calls > 0 || waited || row.refused() > 0
    };
    let used: HashSet<u64> = rows
        .iter()
        .filter(|row| row.op.class() != Class::Create && is_used(row))
        .map(|row| row.counts.lock)
        .collect();
    rows.retain(|row| {
        is_used(row) || row.op.class() == Class::Create && used.contains(&row.counts.lock)
    });
    rows
}

/// Subtracts from the rows the calls and the refused tries that are `owed` at each call site. Their
/// distribution over the locks of a call site may be an estimate, so a lock may have fewer than at
/// the earlier reading. The difference is owed, and is subtracted from other locks of the call site,
/// so that the sum stays exact.
fn pay(rows: &mut [Row], mut owed: HashMap<(u64, Op), [u64; 2]>) {
    let pay = |count: &mut u64, rest: &mut u64| {
        let part = (*count).min(*rest);
        *count -= part;
        *rest -= part;
    };
    for row in rows {
        if let Some([calls, refused]) = owed.get_mut(&(row.counts.ret, row.op)) {
            pay(&mut row.counts.calls, calls);
            if let Some(waits) = row.waits.as_deref_mut() {
                pay(&mut waits.refused, refused);
            }
        }
    }
}

/// When a wait ends, all of it is counted. So if a wait began before the window and has ended in
/// it, this function subtracts the part before the window.
fn wait_from(rows: &mut [Row], now: &ThreadRecord, was: &ThreadRecord, from: u64) {
    let same = now.lifetimes == was.lifetimes && now.waiting_op == was.waiting_op;
    if was.waiting_op == 0 || same && now.waiting_since == was.waiting_since {
        return;
    }
    let early = from.saturating_sub(was.waiting_since);
    let is_its = |row: &&mut Row| {
        row.op as u32 == was.waiting_op
            && row.counts.lock == was.waiting_lock
            && row.waits.as_ref().is_some_and(|waits| waits.ticks >= early)
    };
    let its = rows.iter_mut().filter(is_its).max_by_key(|row| {
        (row.counts.stack == was.waiting_stack, row.waits.as_ref().map_or(0, |waits| waits.ticks))
    });
    if let Some(waits) = its.and_then(|row| row.waits.as_deref_mut()) {
        waits.ticks -= early;
        bound(waits);
    }
}

/// Limits the longest wait and the waits for each holder to the sum of all waits.
fn bound(waits: &mut WaitRecord) {
    waits.max = waits.max.min(waits.ticks);
    for blocker in &mut waits.blockers {
        blocker.ticks = blocker.ticks.min(waits.ticks);
    }
}

fn row_since(now: &Row, was: &Row) -> Row {
    let mut counts = now.counts;
    less!(counts, was.counts; calls);
    if now.op.class() != Class::Create {
        less!(counts, was.counts; held_ticks, held_samples);
        let samples = u64::from(counts.held_samples);
        counts.held_max =
            longest(now.counts.held_max, was.counts.held_max, counts.held_ticks, samples);
    }
    let waits = now.waits.as_deref().map(|waits| match was.waits.as_deref() {
        Some(was) => waits_since(waits, was),
        None => *waits,
    });
    let nest = now.nest.as_deref().map(|nest| match was.nest.as_deref() {
        Some(was) => nest_since(nest, was),
        None => *nest,
    });
    let (waits, nest) = (waits.map(Box::new), nest.map(Box::new));
    Row { op: now.op, counts, waits, nest, sampled: now.sampled || was.sampled }
}

/// The longest hold in the window, if it is longer than all earlier ones. Otherwise that is
/// unknown, and the result is the mean of the holds in the window.
fn longest(now: u64, was: u64, ticks: u64, samples: u64) -> u64 {
    if now > was { now } else { ticks.checked_div(samples).unwrap_or(0) }
}

fn waits_since(now: &WaitRecord, was: &WaitRecord) -> WaitRecord {
    let mut waits = *now;
    less!(waits, was;
        waits, ticks, timeouts, refused, held_ticks, held_samples, futile, held_looked_at,
        held_looked_at_ticks, held_off_cpu_ticks, held_slept, held_preempted, own_ticks, spun_ticks,
    );
    waits.held_max = longest(now.held_max, was.held_max, waits.held_ticks, waits.held_samples);
    for (bucket, was) in waits.histogram.iter_mut().zip(was.histogram) {
        *bucket = bucket.saturating_sub(was);
    }
    for blocker in &mut waits.blockers {
        let same = |was: &&Blocker| (was.stack, was.thread) == (blocker.stack, blocker.thread);
        // If no blocker has both in common, one with the same stack is the same blocker. Its thread
        // is only the latest holder, and may have changed.
        let place = |was: &&Blocker| was.stack == blocker.stack;
        let all = || was.blockers.iter().filter(|blocker| blocker.waits > 0);
        if let Some(was) = all().find(same).or_else(|| all().find(place)) {
            less!(blocker, was; waits, ticks);
        }
    }
    if now.max <= was.max {
        let highest = waits.histogram.iter().rposition(|&waits| waits > 0);
        let limit = match highest {
            None => 0,
            Some(bucket) if bucket == BUCKETS - 1 => u64::MAX,
            Some(bucket) => 1 << (FIRST_BUCKET_LOG2 as usize + bucket),
        };
        waits.max = now.max.min(limit);
    }
    bound(&mut waits);
    waits
}

fn nest_since(now: &NestRecord, was: &NestRecord) -> NestRecord {
    let mut nest = *now;
    less!(nest, was; alone, others);
    for outer in &mut nest.locks {
        let same = |was: &&layout::Nest| (was.lock, was.stack) == (outer.lock, outer.stack);
        if let Some(was) = was.locks.iter().find(same) {
            less!(outer, was; seen);
        }
    }
    nest
}
