//! The budget: what tracing may cost, and what it has cost.

use core::sync::atomic::Ordering;

use super::Process;
use crate::{aside, clock};

/// At least this many times a second the budget is computed again. Each time, the processor time of
/// all threads is read, for which the kernel locks the run queue of one processor after the other.
/// Reading it a thousand times a second made programs whose threads wait for each other a tenth
/// slower. So it is read more often only in the beginning (see [`OFTENEST`] and [`AGAIN`]).
const REFRESH: u64 = 50;
/// At most this many times a second the budget is computed again.
const OFTENEST: u64 = 1000;
/// The time until the budget is computed again is the time that the process has run, divided by
/// this, within the limits of [`REFRESH`] and [`OFTENEST`].
const AGAIN: u64 = 16;
/// By how many nanoseconds the library makes an acquisition and its release slower if they are
/// passed over (measured).
const PER_PAIR: u64 = 3;
/// By how many nanoseconds the library makes them slower in addition if the acquisition is counted.
/// The library makes an allocation and its free slower by the sum of both numbers.
const PER_LOOK: u64 = 7;
/// Counting also takes a part of the budget. However much that is, the budget divided by this is
/// left for tracing, since a user who asks for a trace wants to see something.
const LEAST: u64 = 8;
/// The budget that remains after counting is divided by this, and only the result may be spent on
/// tracing as measured by clocks. The rest is for cost that the clocks don't show: the loader's
/// work for one more library, data that tracing evicted from the caches, and other threads' waits
/// for the section's end. On x264, with this factor of 2, the cost was 7 % in all.
const SEEN: u64 = 2;
/// The most instructions of one stretch of tracing if there is a budget. They take about 30
/// milliseconds, during which other threads may wait for the section's end. In a longer section,
/// tracing is stopped.
const LONGEST: u64 = 1_000_000;
/// The most instructions of one stretch of tracing if there is no budget, so that everything is
/// traced whatever it costs.
const LONGEST_WITHOUT_BUDGET: u64 = 100_000_000;
/// The time of one instruction in a traced section, in nanoseconds (measured).
const PER_INSTRUCTION: u64 = 30;
/// One stretch of tracing may cost at most the budget of the whole time up to now, divided by this.
/// It must not use up the budget in advance because the program may end soon.
const OF_ALL: u64 = 2;
/// If other threads slept until a section's end, this many times its cost is charged. The
/// additional cost stands for their time, for the kernel's work to put each to sleep and to wake
/// it, and for threads that find the lock taken when they wake. On the workload one-table-lock,
/// where all cost is of this kind, a factor of 2 left 1.5 % of the program's processor time
/// unaccounted for.
const WAITED_FOR: u64 = 4;
/// This fraction (numerator and denominator) of the budget up to now is reserved for watched
/// sections, but at most the budget of a quarter of a second.
const KEPT: (u64, u64) = (3, 4);
/// If there is no budget, the cost of one in this many sections is measured, chosen at random.
pub const MEASURED: u64 = 16;

impl Process {
    /// Whether tracing has cost less than the budget that [`Process::keep_up`] last computed.
    /// Always true without a budget.
    #[inline]
    pub fn may_trace_watched(&self) -> bool {
        self.options.budget == 0
            || self.spent.load(Ordering::Relaxed) < self.allowed.load(Ordering::Relaxed)
    }

    /// Like [`Process::may_trace_watched`], for sections that are not watched. While any family is
    /// watched, they must leave the fraction [`KEPT`] of the budget to watched sections. If those
    /// are rare and don't use it, it stays reserved, but its maximum keeps it from growing.
    pub fn may_trace(&self) -> bool {
        if self.options.budget == 0 || !self.waits.any() {
            return self.may_trace_watched();
        }
        let allowed = self.allowed.load(Ordering::Relaxed);
        let kept = (allowed / KEPT.1 * KEPT.0).min(self.part(self.options.ticks_per_second) / 4);
        self.spent.load(Ordering::Relaxed) + kept < allowed
    }

    /// The share of this many ticks that tracing may cost.
    fn part(&self, ticks: u64) -> u64 {
        (u128::from(ticks) * u128::from(self.options.budget) / 1000) as u64
    }

    /// Computes how much tracing may have cost up to now, if that is due again. Must not be called
    /// right after an acquisition, since it takes microseconds, in which other threads would go to
    /// sleep until the lock's release.
    pub fn keep_up(&self, now: u64) {
        let at = self.allowed_at.load(Ordering::Relaxed);
        let second = self.options.ticks_per_second;
        let passed = at.saturating_sub(self.started);
        if now.saturating_sub(at) >= (passed / AGAIN).clamp(second / OFTENEST, second / REFRESH) {
            self.refresh(at, now);
        }
    }

    #[cold]
    fn refresh(&self, at: u64, now: u64) {
        /// If the program has no sections for a while, its budget is saved up, but at most the
        /// budget of this many seconds.
        const SAVED_SECONDS: u64 = 1;
        // Only one thread computes it. The others use the last result.
        let (set, order) = (now.max(1), Ordering::Relaxed);
        if self.allowed_at.compare_exchange(at, set, order, order).is_err() {
            return;
        }
        // The budget is a share of the time that has passed, or of the program's processor time if
        // that is less: a program that other programs keep from the processors must not be slowed
        // down further. Only the program's own time counts, without this library's.
        let passed = now.saturating_sub(self.started);
        let besides = self.besides.load(Ordering::Relaxed);
        let ours = besides + self.cost.load(Ordering::Relaxed);
        let Some(processor) = aside::allowed(clock::of_process) else { return };
        let processor = self.to_ticks(processor);
        self.file.set_processor_time(besides, processor, now);
        let total = self.part(passed.min(processor.saturating_sub(ours)));
        let total = total.saturating_sub(besides).max(total / LEAST) / SEEN;
        let saved = self.part(self.options.ticks_per_second * SAVED_SECONDS);
        let spent = self.spent.load(Ordering::Relaxed);
        if spent + saved < total {
            // If another thread adds the cost of a section at this moment, that cost is lost. This
            // is tolerated.
            self.spent.store(total - saved, Ordering::Relaxed);
        }
        self.allowed.store(total, Ordering::Relaxed);
    }

    /// The most instructions that may be traced now in one stretch.
    pub fn longest(&self) -> u64 {
        if self.options.budget == 0 {
            return LONGEST_WITHOUT_BUDGET;
        }
        let per_instruction = self.to_ticks(PER_INSTRUCTION * OF_ALL).max(1);
        (self.allowed.load(Ordering::Relaxed) / per_instruction).min(LONGEST)
    }

    /// Notes that, in a recording, threads waited this many microseconds for the lock `lock` at the
    /// call site `site`.
    pub fn expect_wait(&self, lock: u64, site: u64, microseconds: u64) {
        let ticks = self.to_ticks(microseconds.saturating_mul(1000));
        if ticks > 0 && self.options.budget != 0 {
            self.waits.waited(lock, site, ticks);
        }
    }

    fn to_ticks(&self, nanoseconds: u64) -> u64 {
        let rate = u128::from(self.options.ticks_per_second);
        (u128::from(nanoseconds) * rate / 1_000_000_000) as u64
    }

    /// Notes the cost of tracing a section, as measured between two readings of the clock, in
    /// nanoseconds. The cost of one reading is added, because half of each reading is outside of
    /// the measured interval, and two readings cost as much as half a small section. If other
    /// threads waited for the section's end, [`WAITED_FOR`] times as much is taken from the budget.
    ///
    /// If there is no budget, only one in [`MEASURED`] sections is measured, and stands for that
    /// many.
    pub fn add_cost(&self, nanoseconds: u64, others_waited: bool) {
        let ticks = self.to_ticks(nanoseconds + self.clock_cost);
        let ticks = if self.options.budget == 0 { ticks * MEASURED } else { ticks };
        let times = if others_waited { WAITED_FOR } else { 1 };
        self.spent.fetch_add(ticks * times, Ordering::Relaxed);
        self.cost.fetch_add(ticks, Ordering::Relaxed);
        self.file.add_cost(ticks);
    }

    /// Writes the process's processor time up to now, and the cost other than tracing, into the
    /// file.
    pub fn tell_cost(&self) {
        let besides = self.besides.load(Ordering::Relaxed);
        let processor = self.to_ticks(clock::of_process());
        self.file.set_processor_time(besides, processor, clock::now());
    }

    /// Notes a cost of the library other than tracing, in nanoseconds.
    pub fn add_besides(&self, nanoseconds: u64) {
        self.besides.fetch_add(self.to_ticks(nanoseconds), Ordering::Relaxed);
    }

    /// Notes the cost of calls that were not traced: this many acquisitions and calls of the
    /// allocator. `looked_at` of the acquisitions were counted, and the others passed over.
    pub fn add_skipped(&self, acquisitions: u32, looked_at: u32, allocator: u32) {
        let pairs = u64::from(acquisitions) + u64::from(allocator / 2);
        let looks = u64::from(looked_at) + u64::from(allocator / 2);
        self.add_besides(pairs * PER_PAIR + looks * PER_LOOK);
    }
}
