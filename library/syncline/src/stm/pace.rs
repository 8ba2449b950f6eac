//! Whether transactions run side by side or one after the other: whichever gets more done.
//!
//! Side by side, transactions use several processors, but fetch lines that others write, and may do
//! much work for little gain. Which way is quicker depends on the program, the machine, and the
//! number of threads, so it is measured. Time is divided into windows, and the transactions of each
//! window are counted. From time to time, one window runs the other way; the way that did more is
//! kept. A trial without a gain doubles the time to the next trial, up to a limit. If the rate
//! changes, the program probably does something else, so a trial begins at most one window later.
//!
//! Safety does not depend on this module: a thread that reads an outdated value only decides later.

use core::fmt::Debug;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU64};
use core::time::Duration;

/// Says how an engine's transactions run.
pub trait Pace: Debug + Default + Send + Sync + 'static {
    /// How many transactions a thread runs before it consults the pace again.
    const EVERY: u32;

    /// Called after [`EVERY`](Self::EVERY) more transactions of a thread. If the mode has to
    /// change, calls `run`: with `true` if transactions run one after the other from now on, with
    /// `false` if side by side.
    fn next(&self, now: impl FnOnce() -> Duration, run: impl FnOnce(bool));
}

/// Decides by measurements.
#[derive(Debug, Default)]
pub struct Measured {
    /// Transactions since the window began.
    done: AtomicU64,
    /// When the window began, in nanoseconds.
    began: AtomicU64,
    /// Whether a thread is ending the window.
    ends: AtomicBool,
    serial: AtomicBool,
    /// Whether this window is a trial.
    trial: AtomicBool,
    /// The rate that trials are compared with, in transactions a second. It is the rate of the last
    /// window that was not a trial, or of a later trial that did better.
    rate: AtomicU64,
    /// Windows until the next trial.
    left: AtomicU64,
    /// Windows between the last trial and the next.
    pause: AtomicU64,
}

/// The length of a window in nanoseconds: long enough for many hand-overs of the lock, even to
/// threads that sleep.
const WINDOW: u64 = 500_000;
/// The fewest and the most windows between trials. With the most, trials take less than 2 % of the
/// time.
const PAUSES: [u64; 2] = [4, 64];

impl Measured {
    /// A pace without measurements. It is `const`.
    pub const fn fresh() -> Self {
        Self {
            done: AtomicU64::new(0),
            began: AtomicU64::new(0),
            ends: AtomicBool::new(false),
            serial: AtomicBool::new(false),
            trial: AtomicBool::new(false),
            rate: AtomicU64::new(0),
            left: AtomicU64::new(0),
            pause: AtomicU64::new(0),
        }
    }

    fn end_window(&self, done: u64, now: u64, time: u64, run: impl FnOnce(bool)) {
        let before = self.serial.load(Relaxed);
        let serial = self.decide((u128::from(done) * 1_000_000_000 / u128::from(time)) as u64);
        self.serial.store(serial, Relaxed);
        if serial != before {
            run(serial);
        }
        self.done.store(0, Relaxed);
        self.began.store(now, Relaxed);
    }

    /// Whether transactions run one after the other in the next window, given this window's rate.
    fn decide(&self, rate: u64) -> bool {
        let serial = self.serial.load(Relaxed);
        let last = self.rate.load(Relaxed);
        if self.trial.load(Relaxed) {
            self.trial.store(false, Relaxed);
            // A smaller improvement may be random, and is not worth the change.
            let better = rate > last + last / 16;
            let [fewest, most] = PAUSES;
            let pause = if better { fewest } else { (2 * self.pause.load(Relaxed)).min(most) };
            self.pause.store(pause.max(fewest), Relaxed);
            self.left.store(pause.max(fewest), Relaxed);
            if better {
                self.rate.store(rate, Relaxed);
            }
            return serial == better;
        }
        let changed = rate.abs_diff(last) > last / 3;
        self.rate.store(rate, Relaxed);
        let left = self.left.load(Relaxed);
        if changed {
            let [fewest, _] = PAUSES;
            self.pause.store(fewest, Relaxed);
            self.left.store(left.min(1), Relaxed);
        }
        let left = self.left.load(Relaxed);
        if left > 0 {
            self.left.store(left - 1, Relaxed);
            return serial;
        }
        self.trial.store(true, Relaxed);
        !serial
    }
}

impl Pace for Measured {
    const EVERY: u32 = 64;

    fn next(&self, now: impl FnOnce() -> Duration, run: impl FnOnce(bool)) {
        let done = self.done.fetch_add(Self::EVERY.into(), Relaxed) + u64::from(Self::EVERY);
        let now = now().as_nanos() as u64;
        let time = || now.saturating_sub(self.began.load(Relaxed));
        if time() < WINDOW || self.ends.swap(true, Acquire) {
            return;
        }
        // Another thread may have ended the window meanwhile.
        if time() >= WINDOW {
            self.end_window(done, now, time(), run);
        }
        // Release: pairs with the Acquire above, so only one thread at a time ends a window.
        self.ends.store(false, Release);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// How many transactions a program does in a window, side by side or one after the other.
    struct Program {
        side_by_side: u64,
        serial: u64,
    }

    /// Lets windows go by, and returns whether each of them was serial.
    fn windows(pace: &Measured, program: &Program, count: usize) -> Vec<bool> {
        let mut windows = Vec::new();
        for _ in 0..count {
            let serial = pace.serial.load(Relaxed);
            windows.push(serial);
            let rate = if serial { program.serial } else { program.side_by_side };
            pace.serial.store(pace.decide(rate), Relaxed);
        }
        windows
    }

    fn most_are(windows: &[bool], serial: bool) -> bool {
        let wrong = windows.iter().filter(|&&window| window != serial).count();
        wrong * 8 < windows.len()
    }

    #[test]
    fn what_gets_more_done_stays() {
        let pace = Measured::default();
        let short = Program { side_by_side: 30_000, serial: 60_000 };
        assert!(most_are(&windows(&pace, &short, 40)[6..], true));
        let long = Program { side_by_side: 9_000, serial: 5_000 };
        assert!(most_are(&windows(&pace, &long, 40)[6..], false));
        assert!(most_are(&windows(&pace, &short, 40)[6..], true));
    }

    #[test]
    fn trials_become_rare() {
        let pace = Measured::default();
        let program = Program { side_by_side: 9_000, serial: 9_000 };
        windows(&pace, &program, 400);
        let trials = windows(&pace, &program, 400).into_iter().filter(|&serial| serial).count();
        assert!((1..8).contains(&trials), "{trials} trials in 400 windows");
    }

    #[test]
    fn a_thread_that_comes_before_the_end_of_a_window_changes_nothing() {
        let pace = Measured::default();
        pace.next(|| Duration::from_nanos(WINDOW - 1), |_| panic!("the window is not over"));
        assert_eq!(pace.done.load(Relaxed), Measured::EVERY.into());
    }
}
