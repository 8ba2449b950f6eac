//! The budget: what tracing may cost, and what it has cost.

use core::sync::atomic::Ordering;

use super::Process;
use crate::{aside, clock};

/// How many times a second the budget is computed again; in the beginning it is up to [`OFTENEST`]
/// times. Each time, the processor time of all threads is read, for which the kernel locks the run
/// queue of one processor after the other. A thousand times a second, that slowed programs whose
/// threads wait for each other by a tenth.
const REFRESH: u64 = 50;
/// See [`REFRESH`].
const OFTENEST: u64 = 1000;
/// In the beginning, the budget is computed again after the time that has passed, divided by this.
const AGAIN: u64 = 16;
/// The additional cost of an acquisition that is passed over, with its release, in nanoseconds, as
/// measured.
const PER_PAIR: u64 = 3;
/// The further cost if the acquisition is counted, in nanoseconds. An allocation with its free costs
/// as much as both together.
const PER_LOOK: u64 = 7;
/// However much of the budget counting takes, the budget divided by this is left for tracing: a
/// user who asks for a trace wants to see something.
const LEAST: u64 = 8;
/// The budget that remains after counting, divided by this, may be spent on cost that our clocks
/// show. The rest is for cost that they don't show: the loader's work for one more library, data
/// that tracing evicted from the caches, and other threads' waits for the section's end. On x264,
/// spending half by the clocks came to 7 % in all.
const SEEN: u64 = 2;
/// Most instructions of one stretch of tracing within a budget: some 30 milliseconds, in which other
/// threads may wait for the section's end. Tracing of a longer section is stopped.
const LONGEST: u64 = 1_000_000;
/// Used in place of [`LONGEST`] if everything is traced, whatever it costs.
const LONGEST_WITHOUT_BUDGET: u64 = 100_000_000;
/// The measured time of an instruction in a traced section, in nanoseconds.
const PER_INSTRUCTION: u64 = 30;
/// One stretch may cost at most all that tracing may have cost up to now, divided by this: the
/// program may end soon.
const OF_ALL: u64 = 2;
/// A section for which other threads slept is charged this many times its cost. That stands for
/// their time, for the kernel's work to put each to sleep and wake it, and for threads that find
/// the lock taken when they wake. On the workload one-table-lock, where all cost is of this kind, a
/// factor of 2 left 1.5 % of the program's processor time unaccounted for.
const WAITED_FOR: u64 = 4;
/// This fraction, numerator and denominator, of what tracing may have cost is reserved for watched
/// sections, but at most the budget of a quarter of a second.
const KEPT: (u64, u64) = (3, 4);
/// If everything is traced, the cost of one section in this many is measured, at random.
pub const MEASURED: u64 = 16;

impl Process {
    /// Whether tracing has cost less than it may, as [`Process::keep_up`] last computed it.
    #[inline]
    pub fn may_trace_watched(&self) -> bool {
        self.options.budget == 0
            || self.spent.load(Ordering::Relaxed) < self.allowed.load(Ordering::Relaxed)
    }

    /// Like [`Process::may_trace_watched`], for sections that are not watched. They leave [`KEPT`]
    /// of the budget to watched sections. A part that these don't use, because they are rare, is
    /// withheld once and not again and again.
    pub fn may_trace(&self) -> bool {
        if self.options.budget == 0 || !self.waits.any() {
            return self.may_trace_watched();
        }
        let allowed = self.allowed.load(Ordering::Relaxed);
        let kept = (allowed / KEPT.1 * KEPT.0).min(self.part(self.options.ticks_per_second) / 4);
        self.spent.load(Ordering::Relaxed) + kept < allowed
    }

    /// The budget for this many ticks of time.
    fn part(&self, ticks: u64) -> u64 {
        (u128::from(ticks) * u128::from(self.options.budget) / 1000) as u64
    }

    /// Computes what tracing may have cost up to now, if that is due. It must not be called right
    /// after an acquisition: it takes microseconds, in which other threads would go to sleep for
    /// the lock.
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
        /// Budget that was not used, while the program had no sections, is saved up for no longer
        /// than this.
        const SAVED_SECONDS: u64 = 1;
        // One thread does this; the others use the last result.
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
            // The cost of one section may be lost if another thread adds it at this moment.
            self.spent.store(total - saved, Ordering::Relaxed);
        }
        self.allowed.store(total, Ordering::Relaxed);
    }

    /// The most instructions that are traced in one stretch.
    pub fn longest(&self) -> u64 {
        if self.options.budget == 0 {
            return LONGEST_WITHOUT_BUDGET;
        }
        let per_instruction = self.to_ticks(PER_INSTRUCTION * OF_ALL).max(1);
        (self.allowed.load(Ordering::Relaxed) / per_instruction).min(LONGEST)
    }

    /// Notes that in a recording threads waited this many microseconds for a lock at a call site.
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

    /// Notes the cost of tracing a section, in nanoseconds between two readings of the clock. The
    /// cost of one reading is added: two readings cost as much as half a small section, and half of
    /// each is outside of the measured interval. If other threads waited for the section's end, it
    /// takes [`WAITED_FOR`] times as much of the budget.
    ///
    /// Without a budget, only one section in [`MEASURED`] is measured, and stands for that many.
    pub fn add_cost(&self, nanoseconds: u64, others_waited: bool) {
        let ticks = self.to_ticks(nanoseconds + self.clock_cost);
        let ticks = if self.options.budget == 0 { ticks * MEASURED } else { ticks };
        let times = if others_waited { WAITED_FOR } else { 1 };
        self.spent.fetch_add(ticks * times, Ordering::Relaxed);
        self.cost.fetch_add(ticks, Ordering::Relaxed);
        self.file.add_cost(ticks);
    }

    /// Writes the processor time up to now, and the cost besides tracing, into the file.
    pub fn tell_cost(&self) {
        let besides = self.besides.load(Ordering::Relaxed);
        let processor = self.to_ticks(clock::of_process());
        self.file.set_processor_time(besides, processor, clock::now());
    }

    /// Notes a cost other than tracing, in nanoseconds.
    pub fn add_besides(&self, nanoseconds: u64) {
        self.besides.fetch_add(self.to_ticks(nanoseconds), Ordering::Relaxed);
    }

    /// Notes the cost of calls that were not traced: `acquisitions`, of which `looked_at` were
    /// looked at, and `allocator` calls of the allocator.
    pub fn passed_by(&self, acquisitions: u32, looked_at: u32, allocator: u32) {
        let pairs = u64::from(acquisitions) + u64::from(allocator / 2);
        let looks = u64::from(looked_at) + u64::from(allocator / 2);
        self.add_besides(pairs * PER_PAIR + looks * PER_LOOK);
    }
}
