//! Windows: the times in which a thread is sampled, and what each sample stands for.
//!
//! An event costs its thread about 3 µs each time that the thread gets a processor, because the
//! kernel then starts the event's clock. A server that answers a request every 20 µs would lose
//! more than a tenth of its time. So the shorter a thread's time slices are, the smaller is the
//! part of its time in which it has an event. A window also stands for the time since the previous
//! one.

use std::collections::HashMap;
use std::io;

use crate::asleep::Thread;
use crate::clock::{Clock, HERTZ, Sample};
use crate::gathered::{Gathered, Seen};
use crate::outer::Outer;
use crate::times::Times;

/// Nanoseconds. A thread whose time slices are shorter on average is sampled for only a part of its
/// time. Then the event takes less than half a percent of the thread's time, unless the part would
/// have to be smaller than [`LEAST_PART`] for that.
const SLICE: u64 = 800_000;
/// Processor time between two samples, in nanoseconds, as the kernel computes it.
const PERIOD: u64 = 1_000_000_000 / HERTZ as u64;
/// Processor time of the shortest window, in nanoseconds.
const SHORTEST: u64 = 3 * PERIOD;
/// The smallest part of its time for which a thread is sampled. A thread's last window does not
/// stand for the time after it; with a smaller part, that time could be longer.
const LEAST_PART: f64 = 1.0 / 20.0;

/// A stretch of time in which a thread has an event.
pub struct Window {
    clock: Clock,
    outer: Outer,
    /// How often the thread was seen at a frame.
    seen: HashMap<Seen, u64>,
    /// The thread's processor time up to which earlier windows stand, and its processor time when
    /// this window began.
    stands: u64,
    opened: u64,
    /// The time from the window's beginning to that of the next one has to be at least this many
    /// times as long as the window.
    stretch: f64,
}

/// What remains of a window after its end.
pub struct Closed {
    /// The thread's processor time up to which windows stand.
    pub stands: u64,
    /// The thread's processor time at which the next window is due.
    pub due: u64,
}

impl Window {
    /// Opens a window. The earlier ones stand for the thread's processor time up to `stands`, and
    /// it has now used `opened`; `lately` is what it has used since the last look.
    ///
    /// # Errors
    /// Same errors as [`Clock::of`].
    pub fn open(thread: Thread, stands: u64, opened: u64, lately: Times) -> io::Result<Window> {
        let clock = Clock::of(thread.1)?;
        let (outer, seen) = (Outer::default(), HashMap::new());
        Ok(Window { clock, outer, seen, stands, opened, stretch: stretch(lately) })
    }

    /// Adapts the window to what the thread has used of the processors since the last look.
    pub fn adapt(&mut self, lately: Times) {
        if lately.cpu > 0 {
            self.stretch = stretch(lately);
        }
    }

    /// Takes the samples since the last call.
    pub fn read(&mut self, thread: Thread, gathered: &mut Gathered) {
        self.outer.copy(thread.0);
        let outer = Some(&self.outer);
        let lost = self.clock.read(|sample| {
            match gathered.frame(thread.0, &Sample { outer, ..*sample }) {
                Some(frame) => {
                    let seen = Seen { frame, in_kernel: sample.in_kernel };
                    *self.seen.entry(seen).or_default() += 1;
                }
                None => gathered.lose(1),
            }
        });
        gathered.lose(lost);
    }

    /// Whether the window has to be short, because its thread gets a processor often.
    pub fn ends_soon(&self) -> bool {
        self.stretch > 1.0
    }

    /// Whether the window has to end now.
    pub fn is_over(&mut self) -> bool {
        self.ends_soon() && self.clock.covered() >= SHORTEST
    }

    /// Takes the remaining samples, and ends the window.
    pub fn close(mut self, thread: Thread, gathered: &mut Gathered) -> Closed {
        self.read(thread, gathered);
        let covered = self.clock.covered();
        let due = self.opened + (covered as f64 * self.stretch) as u64;
        let Some((each, stands_for)) = weights(self.opened.saturating_sub(self.stands), covered)
        else {
            return Closed { stands: self.stands, due };
        };
        for (seen, count) in self.seen {
            gathered.see(thread, seen, count * each);
        }
        gathered.cover(thread, stands_for);
        Closed { stands: self.opened + covered, due }
    }
}

/// How many times as long as a window the time from its beginning to that of the next has to be.
/// `lately` says how the thread has used the processors since the last look. The result is at most
/// 1 if windows need no pause between them.
pub fn stretch(lately: Times) -> f64 {
    let stretch = (lately.slices * SLICE) as f64 / lately.cpu.max(1) as f64;
    stretch.min(1.0 / LEAST_PART)
}

/// How many nanoseconds each sample of a window stands for, and how many the whole window stands
/// for: its own time and the time before it. `None` if the window was too short for a sample. The
/// kernel's clock runs in whole periods, so a window that ends within a period has no sample of
/// that part.
fn weights(before: u64, covered: u64) -> Option<(u64, u64)> {
    let all = before + covered;
    Some((all.checked_div(covered / PERIOD)?, all))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_shorter_the_slices_the_longer_the_rest() {
        let of = |slices| stretch(Times { cpu: 100 * MS, slices });
        assert!(of(1) < 1.0 && of(124) < 1.0, "it needs none");
        // The slices last 100 µs.
        assert_eq!(of(1_000), 8.0);
        assert_eq!(of(10_000), 20.0, "not longer");
    }

    /// The samples of a thread that spins for a quarter of its time say so, whatever part of its
    /// time is sampled.
    #[test]
    fn samples_stand_for_all_of_the_time() {
        for rest in [0, 10 * MS, 500 * MS] {
            for length in [SHORTEST, SHORTEST + PERIOD / 2, 40 * PERIOD] {
                let (mut spun, mut all) = (0, 0);
                for window in 0..1_000 {
                    let (each, stands_for) = weights(rest, length).expect("samples");
                    // Whatever the window's length is, the kernel takes a sample at the end of each
                    // period.
                    let samples = length / PERIOD;
                    let spins = (window * samples..(window + 1) * samples).filter(|n| n % 4 == 0);
                    spun += spins.count() as u64 * each;
                    all += stands_for;
                }
                let share = spun as f64 / all as f64;
                assert!((share - 0.25).abs() < 0.001, "{share}, {rest} ns between {length}");
                assert_eq!(all, 1_000 * (rest + length));
            }
        }
        assert_eq!(weights(10 * MS, PERIOD - 1), None, "the next window stands for it");
    }
}
