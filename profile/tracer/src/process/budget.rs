//! The budget: what tracing may cost, and what it has cost.

use core::sync::atomic::Ordering;

use super::Process;
use crate::{aside, clock};

/// The budget is computed again this often in a second, and in the beginning more often, up to
/// [`OFTENEST`]. It reads the processor time of all threads, for which the kernel locks the
/// scheduler of each processor in turn: done a thousand times a second, that slowed programs whose
/// threads wait for each other by a tenth.
const REFRESH: u64 = 50;
/// See [`REFRESH`].
const OFTENEST: u64 = 1000;
/// In the beginning it is computed again after this part of the time that has passed, as a divisor.
const AGAIN: u64 = 16;
/// The additional cost of an acquisition with its release when it is passed over, in nanoseconds:
/// as measured.
const PER_PAIR: u64 = 3;
/// What it costs besides when it is counted, in nanoseconds. An allocation with its end costs as much
/// as both.
const PER_LOOK: u64 = 7;
/// However much of the budget counting takes, this part of it, as a divisor, is left for tracing: a
/// user who asks for a trace wants to see something.
const LEAST: u64 = 8;
/// After counting, this part of the remaining budget, as a divisor, is spent on cost that our
/// clocks show. The rest is for cost that they don't show: the loader's work for one more library,
/// data that tracing evicted from the caches, and other threads' waits for the section's end. On
/// x264, spending half by the clocks came to 7 % in all.
const SEEN: u64 = 2;
/// Most instructions of one stretch of tracing within a budget: some milliseconds, in which
/// others wait for the section's end. A longer section is stopped.
const LONGEST: u64 = 1_000_000;
/// The most instructions if everything is traced, whatever it costs.
const LONGEST_WITHOUT_BUDGET: u64 = 100_000_000;
/// The measured time of an instruction in a traced section, in nanoseconds.
const PER_INSTRUCTION: u64 = 30;
/// One stretch takes no more than this part of all that tracing may have cost, as a divisor: the
/// program may end soon.
const OF_ALL: u64 = 2;
/// A section that others slept for costs this many times what it took: their time, the kernel's way
/// down and up for each, and the threads that find the lock taken while they wake. On
/// one-table-lock, where this is all that tracing costs, twice as much left 1.5 % of the program's
/// processor time unseen.
const WAITED_FOR: u64 = 4;
/// This part of what tracing may have cost (at most a quarter of a second's budget) is reserved for
/// watched sections.
const KEPT: (u64, u64) = (3, 4);
/// Where all is traced, one section in this many, at random, has its cost measured.
pub const MEASURED: u64 = 16;

impl Process {
    /// Whether tracing has cost less than it may, as [`Process::keep_up`] knew last.
    #[inline]
    pub fn may_trace_watched(&self) -> bool {
        self.options.budget == 0
            || self.spent.load(Ordering::Relaxed) < self.allowed.load(Ordering::Relaxed)
    }

    /// Like [`Process::may_trace_watched`], for sections that are not watched. They leave [`KEPT`]
    /// of the budget to those that are watched. The part that these can't use, since they are rare,
    /// is lost once and not repeatedly.
    pub fn may_trace(&self) -> bool {
        if self.options.budget == 0 || !self.waits.any() {
            return self.may_trace_watched();
        }
        let allowed = self.allowed.load(Ordering::Relaxed);
        let kept = (allowed / KEPT.1 * KEPT.0).min(self.part(self.options.ticks_per_second) / 4);
        self.spent.load(Ordering::Relaxed) + kept < allowed
    }

    /// The budget's part of this many ticks.
    fn part(&self, ticks: u64) -> u64 {
        (u128::from(ticks) * u128::from(self.options.budget) / 1000) as u64
    }

    /// Computes what tracing may have cost up to now, if that is due. It must not be called right
    /// after an acquisition: in those microseconds other threads would go to sleep for the lock.
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
        /// Time that the program spent without sections must not be saved up for long.
        const SAVED_SECONDS: u64 = 1;
        // One thread does this; the others use the last result.
        let (set, order) = (now.max(1), Ordering::Relaxed);
        if self.allowed_at.compare_exchange(at, set, order, order).is_err() {
            return;
        }
        // A share of the time that passed, or of the processor time that the program had in it if
        // that is less: a program that others keep from the processors must not be slowed down
        // more. Only the program's own time counts, without this library's.
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
            // A cost that another thread adds at this moment may be lost: one section's.
            self.spent.store(total - saved, Ordering::Relaxed);
        }
        self.allowed.store(total, Ordering::Relaxed);
    }

    /// How many instructions of one stretch are traced at most.
    pub fn longest(&self) -> u64 {
        if self.options.budget == 0 {
            return LONGEST_WITHOUT_BUDGET;
        }
        let per_instruction = self.to_ticks(PER_INSTRUCTION * OF_ALL).max(1);
        (self.allowed.load(Ordering::Relaxed) / per_instruction).min(LONGEST)
    }

    /// Notes that a recording has threads wait this many microseconds for a lock at a call site.
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

    /// Notes what tracing a section has cost, in nanoseconds between two looks at the clock.
    /// Reading the clock twice costs as much as half a small section, and half of each reading is
    /// outside of what it measures. If others waited for its end, it takes [`WAITED_FOR`] times as
    /// much of the budget.
    ///
    /// Without a budget only some sections are measured, and each stands for others.
    pub fn add_cost(&self, nanoseconds: u64, others_waited: bool) {
        let ticks = self.to_ticks(nanoseconds + self.clock_cost);
        let ticks = if self.options.budget == 0 { ticks * MEASURED } else { ticks };
        let times = if others_waited { WAITED_FOR } else { 1 };
        self.spent.fetch_add(ticks * times, Ordering::Relaxed);
        self.cost.fetch_add(ticks, Ordering::Relaxed);
        self.file.add_cost(ticks);
    }

    /// Writes the total cost up to now into the file.
    pub fn tell_cost(&self) {
        let besides = self.besides.load(Ordering::Relaxed);
        let processor = self.to_ticks(clock::of_process());
        self.file.set_processor_time(besides, processor, clock::now());
    }

    /// Notes what something has cost besides tracing, in nanoseconds.
    pub fn add_besides(&self, nanoseconds: u64) {
        self.besides.fetch_add(self.to_ticks(nanoseconds), Ordering::Relaxed);
    }

    /// Notes that this many acquisitions, of which this many were looked at, and this many calls of
    /// the allocator passed by untraced.
    pub fn passed_by(&self, acquisitions: u32, looked_at: u32, allocator: u32) {
        let pairs = u64::from(acquisitions) + u64::from(allocator / 2);
        let looks = u64::from(looked_at) + u64::from(allocator / 2);
        self.add_besides(pairs * PER_PAIR + looks * PER_LOOK);
    }
}
