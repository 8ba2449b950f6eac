//! How a thread spent its time, divided into kinds that add up to its life.
//!
//! Three facts are known about a thread: how long each of its waits took, how long it was on a
//! processor, and how long it was ready to run and had no processor. The kernel reports the latter
//! two, for the thread's whole life. The division of its life follows from these:
//!
//! ```text
//! life   |---- waits (locks, futexes, events) ----|---- polling ----|--------- outside ---------|
//! kernel |   asleep, ready at their ends, spins   |    processor    |  processor, ready, asleep  |
//! ```
//!
//! Neither the kernel nor the recorder says which part of the ready time was at the ends of waits,
//! when a thread had been woken and had no processor yet. As much ready time as possible is assumed
//! to lie outside of waits; the rest must have been within waits. So `kernel` is a lower bound. If
//! the processor time is not known, the time outside of waits and polling is `unknown`. If only the
//! ready time is not known, `unknown` is what the processor time leaves of it.

use serde::Serialize;

/// Seconds of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    /// On a processor, outside of waits, and not `spinning`.
    pub running: f64,
    /// Ready to run without a processor, outside of waits.
    pub ready: f64,
    /// Waiting for locks. A wait for a spinlock is mostly processor time.
    pub locks: f64,
    /// Polling: refused tries for locks, or yields, in quick succession, and loops that only wait.
    pub spinning: f64,
    /// Waiting in futexes of the program's own.
    pub futexes: f64,
    /// Waiting for events.
    pub events: f64,
    /// In the kernel, outside of the recorded waits: asleep, or waiting for a device, a network or
    /// a poll.
    pub kernel: f64,
    /// Time outside of waits in which the thread's activity is not known.
    pub unknown: f64,
    /// The part of `locks`, `futexes` and `events` in which the thread was ready to run without a
    /// processor: the ready time that can't have been outside of waits.
    pub ready_in_waits: f64,
}

/// What is known of a thread, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// How long the thread lived.
    pub life: f64,
    /// Waited for locks.
    pub locks: f64,
    /// The part of `locks` that was for spinlocks.
    pub spinlocks: f64,
    /// Waited in futexes.
    pub futexes: f64,
    /// Waited for events.
    pub events: f64,
    /// Polled, outside of waits.
    pub spun: f64,
    /// On a processor; `None` if unknown.
    pub cpu: Option<f64>,
    /// Ready to run without a processor; `None` if unknown.
    pub ready: Option<f64>,
}

impl Times {
    /// Divides a thread's life into kinds of time.
    pub fn of(known: &Known) -> Times {
        let waits = known.locks + known.futexes + known.events;
        let active = (known.life - waits).max(0.0);
        let spinning = known.spun.min(active);
        let outside = active - spinning;
        let kinds = Times {
            spinning,
            locks: known.locks,
            futexes: known.futexes,
            events: known.events,
            ..Times::default()
        };
        let Some(cpu) = known.cpu else { return Times { unknown: outside, ..kinds } };
        let running = (cpu - spinning - known.spinlocks).clamp(0.0, outside);
        let rest = outside - running;
        let Some(all_ready) = known.ready else { return Times { running, unknown: rest, ..kinds } };
        let ready = all_ready.min(rest);
        let ready_in_waits = (all_ready - ready).min(waits);
        Times { running, ready, kernel: rest - ready, ready_in_waits, ..kinds }
    }

    /// The seconds of each kind that is a part of a life, and the kind's name, in the order of
    /// reports.
    pub fn kinds(&self) -> [(f64, &'static str); 8] {
        [
            (self.running, "on a processor"),
            (self.ready, "ready, no processor"),
            (self.locks, "waiting for locks"),
            (self.spinning, "polling"),
            (self.futexes, "waiting in futexes"),
            (self.events, "waiting for events"),
            (self.kernel, "other kernel time"),
            (self.unknown, "not known"),
        ]
    }

    /// These times divided by `count`.
    #[must_use]
    pub fn over(&self, count: f64) -> Times {
        Times {
            running: self.running / count,
            ready: self.ready / count,
            locks: self.locks / count,
            spinning: self.spinning / count,
            futexes: self.futexes / count,
            events: self.events / count,
            kernel: self.kernel / count,
            unknown: self.unknown / count,
            ready_in_waits: self.ready_in_waits / count,
        }
    }

    /// The sum over threads.
    pub fn sum(all: impl Iterator<Item = Times>) -> Times {
        all.fold(Times::default(), |a, b| Times {
            running: a.running + b.running,
            ready: a.ready + b.ready,
            locks: a.locks + b.locks,
            spinning: a.spinning + b.spinning,
            futexes: a.futexes + b.futexes,
            events: a.events + b.events,
            kernel: a.kernel + b.kernel,
            unknown: a.unknown + b.unknown,
            ready_in_waits: a.ready_in_waits + b.ready_in_waits,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of a thread that lived ten seconds; checks that the kinds add up to these.
    #[track_caller]
    fn ten(known: Known) -> Times {
        let times = Times::of(&Known { life: 10.0, ..known });
        let sum: f64 = times.kinds().iter().map(|(seconds, _)| seconds).sum();
        assert!((sum - 10.0).abs() < 1e-9, "{times:?}");
        assert!(times.kinds().iter().all(|&(seconds, _)| seconds >= 0.0), "{times:?}");
        times
    }

    #[test]
    fn remaining_time_is_kernel_time() {
        let times =
            ten(Known { cpu: Some(1.0), ready: Some(0.5), events: 2.0, ..Known::default() });
        assert_eq!((times.running, times.ready, times.kernel), (1.0, 0.5, 6.5));
        assert_eq!(times.ready_in_waits, 0.0);
    }

    #[test]
    fn excess_ready_time_belongs_to_the_ends_of_waits() {
        let times = ten(Known { cpu: Some(1.0), ready: Some(5.0), locks: 8.0, ..Known::default() });
        assert_eq!((times.running, times.ready, times.kernel), (1.0, 1.0, 0.0));
        assert_eq!((times.locks, times.ready_in_waits), (8.0, 4.0));
    }

    #[test]
    fn refused_tries_and_spins_are_processor_time_but_not_work() {
        let known = Known { cpu: Some(9.0), ready: Some(1.0), spun: 4.0, ..Known::default() };
        let times = ten(Known { locks: 3.0, spinlocks: 3.0, ..known });
        assert_eq!((times.running, times.spinning, times.locks), (2.0, 4.0, 3.0));
        assert_eq!((times.ready, times.kernel), (1.0, 0.0));
    }

    #[test]
    fn unaccounted_time_is_unknown() {
        let times = ten(Known { futexes: 4.0, ..Known::default() });
        assert_eq!((times.unknown, times.futexes), (6.0, 4.0));
        let times = ten(Known { cpu: Some(2.0), futexes: 4.0, ..Known::default() });
        assert_eq!((times.running, times.unknown, times.kernel), (2.0, 4.0, 0.0));
    }

    #[test]
    fn contradictory_figures_still_add_up() {
        ten(Known {
            cpu: Some(30.0),
            ready: Some(30.0),
            locks: 4.0,
            spun: 9.0,
            ..Known::default()
        });
        ten(Known { cpu: Some(0.0), ready: Some(0.0), spun: 30.0, ..Known::default() });
    }
}
