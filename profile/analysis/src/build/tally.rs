//! Counters that are added up, in ticks.

use syncline_recording::layout::{BUCKETS, ThreadRecord};
use syncline_recording::{Class, Op, Row};

use super::clock::Clock;
use super::holds::{self, Interruptions};
use super::ops::wants;
use crate::model::{Figures, Histogram, HolderTime};

/// Counters, added up. Sums saturate at the largest number.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Calls that succeeded, as [`Figures::calls`].
    pub calls: u64,
    /// Calls that had to wait, as [`Figures::waits`].
    pub waits: u64,
    /// Waits that ended with a time-out.
    pub timeouts: u64,
    /// Tries that were refused.
    pub refused: u64,
    /// Ticks spent polling.
    pub spun: u64,
    /// Waits that had not ended when the recording ended.
    pub unfinished: u64,
    /// Calls that wanted a lock, whether they got it or not.
    pub wanted: u64,
    /// How many of these calls found the lock taken.
    pub found_taken: u64,
    /// The initial value of a semaphore, if the row is of its creation.
    pub begins_with: u64,
    /// Ticks that the recorder itself took in critical sections.
    pub own: u64,
    /// Ticks waited.
    pub waited: u64,
    /// The longest wait.
    pub waited_max: u64,
    /// Ticks held, an estimate.
    pub held: f64,
    /// The longest time held.
    pub held_max: u64,
    /// Acquisitions whose time held was measured.
    pub held_timed: u64,
    /// Wake-ups that found nothing to do, as [`Figures::futile`].
    pub futile: u64,
    /// The number of sampled holds, their ticks, their ticks without a processor, and how often the
    /// holder slept and was preempted.
    pub holder: [u64; 5],
    /// The number of waits in each range of lengths.
    pub histogram: [u64; BUCKETS],
    /// Whether some of the calls are an estimate.
    pub sampled: bool,
}

impl Tally {
    /// The counters of a row of a thread.
    pub fn of_row(row: &Row, interruptions: Interruptions) -> Tally {
        let counts = &row.counts;
        let mut tally = Tally { calls: counts.calls, sampled: row.sampled, ..Tally::default() };
        let mut timed_after_waiting = 0;
        let mut held_after_waiting = 0;
        if let Some(waits) = &row.waits {
            tally.waits = waits.waits;
            tally.timeouts = waits.timeouts;
            tally.refused = waits.refused;
            tally.spun = waits.spun_ticks;
            tally.own = waits.own_ticks;
            tally.waited = waits.ticks;
            tally.waited_max = waits.max;
            tally.held_max = waits.held_max;
            tally.futile = waits.futile;
            tally.holder = [
                waits.held_looked_at,
                waits.held_looked_at_ticks,
                waits.held_off_cpu_ticks,
                u64::from(waits.held_slept),
                u64::from(waits.held_preempted),
            ];
            tally.histogram = waits.histogram.map(u64::from);
            timed_after_waiting = waits.held_samples;
            held_after_waiting = waits.held_ticks;
        }
        if row.op.class() == Class::Create {
            tally.begins_with = counts.held_max;
            return tally;
        }
        tally.held_max = tally.held_max.max(counts.held_max);
        let samples = u64::from(counts.held_samples);
        tally.held_timed = samples.saturating_add(timed_after_waiting);
        // A stratified estimate: acquisitions that waited are all timed, and the sample stands for
        // those that did not wait.
        let not_waited = counts.calls.saturating_sub(timed_after_waiting);
        tally.held = held_after_waiting as f64 + holds::held(counts, not_waited, interruptions);
        if wants(row.op) {
            tally.wanted = tally.calls.saturating_add(tally.timeouts).saturating_add(tally.refused);
            tally.found_taken = tally.waits.saturating_add(tally.refused).min(tally.wanted);
        }
        tally
    }

    /// The wait that a thread was in when the recording ended, if there is one.
    pub fn of_wait(record: &ThreadRecord, clock: &Clock) -> Option<(Op, Tally)> {
        let op = waiting_op(record)?;
        let waited = clock.ended().saturating_sub(record.waiting_since);
        let mut tally = Tally { unfinished: 1, waited, waited_max: waited, ..Tally::default() };
        if wants(op) {
            (tally.wanted, tally.found_taken) = (1, 1);
        }
        Some((op, tally))
    }

    /// Adds another tally.
    pub fn add(&mut self, other: &Tally) {
        let sums = [
            (&mut self.calls, other.calls),
            (&mut self.waits, other.waits),
            (&mut self.timeouts, other.timeouts),
            (&mut self.refused, other.refused),
            (&mut self.spun, other.spun),
            (&mut self.own, other.own),
            (&mut self.unfinished, other.unfinished),
            (&mut self.wanted, other.wanted),
            (&mut self.found_taken, other.found_taken),
            (&mut self.waited, other.waited),
            (&mut self.held_timed, other.held_timed),
            (&mut self.futile, other.futile),
        ];
        let holder = self.holder.iter_mut().zip(other.holder);
        let histogram = self.histogram.iter_mut().zip(other.histogram);
        for (sum, more) in sums.into_iter().chain(holder).chain(histogram) {
            *sum = sum.saturating_add(more);
        }
        self.held += other.held;
        self.sampled |= other.sampled;
        self.waited_max = self.waited_max.max(other.waited_max);
        self.held_max = self.held_max.max(other.held_max);
    }

    /// Seconds held, an estimate.
    pub fn held_seconds(&self, clock: &Clock) -> f64 {
        self.held / clock.ticks_per_second()
    }

    /// Converts the counters to seconds and rates.
    pub fn figures(&self, clock: &Clock) -> Figures {
        let share = |part: u64, whole: u64| {
            if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
        };
        let run = clock.run_seconds();
        Figures {
            calls: self.calls,
            waits: self.waits,
            timeouts: self.timeouts,
            refused: self.refused,
            spun: clock.seconds(self.spun),
            recorder: clock.seconds(self.own),
            unfinished: self.unfinished,
            contention: share(self.found_taken, self.wanted),
            calls_per_second: if run > 0.0 { self.calls as f64 / run } else { 0.0 },
            waited: clock.seconds(self.waited),
            waited_max: clock.seconds(self.waited_max),
            held: self.held_seconds(clock),
            held_max: clock.seconds(self.held_max),
            held_timed: self.held_timed,
            holder: HolderTime {
                looked_at: self.holder[0],
                seconds: clock.seconds(self.holder[1]),
                off_cpu: clock.seconds(self.holder[2]),
                slept: self.holder[3],
                preempted: self.holder[4],
            },
            futile: self.futile,
            histogram: Histogram::new(&self.histogram, clock.ticks_per_second()),
        }
    }
}

/// The operation in which a thread waits; `None` if it does not wait.
pub fn waiting_op(record: &ThreadRecord) -> Option<Op> {
    u8::try_from(record.waiting_op).ok().and_then(Op::from_code)
}
