//! The rate of the processor's clock, compared with the system's clock.
//!
//! The two clocks can't be read at the same moment. So the system's clock is read between two
//! readings of the processor's clock, and this is repeated several times. Only the three readings
//! with the shortest interval are used: an interrupt or the hypervisor makes the interval longer.

use std::thread;
use std::time::{Duration, Instant};

/// The time from the first group of readings to the second. A ten-thousandth of it is 10
/// microseconds, and the readings of a triple are closer together than that.
const SPAN: Duration = Duration::from_millis(100);

/// The number of triples in a group; the closest triple is used.
const TRIES: usize = 50;

/// A triple of readings: the system's clock is read between two readings of the processor's clock.
#[derive(Clone, Copy, Debug)]
struct Reading {
    before: u64,
    nanoseconds: u64,
    after: u64,
}

/// The ticks per second of the processor's clock, which `ticks` reads. `None` if this clock stands
/// still or goes back.
pub fn ticks_per_second(ticks: impl Fn() -> u64) -> Option<f64> {
    let origin = Instant::now();
    let readings = || -> Vec<Reading> {
        let read = |_| Reading {
            before: ticks(),
            nanoseconds: origin.elapsed().as_nanos() as u64,
            after: ticks(),
        };
        (0..TRIES).map(read).collect()
    };
    let first = readings();
    thread::sleep(SPAN);
    rate(&first, &readings())
}

/// The rate, computed from two groups of readings.
fn rate(first: &[Reading], second: &[Reading]) -> Option<f64> {
    let closest = |of: &[Reading]| of.iter().copied().min_by_key(|r| r.after - r.before);
    let (first, second) = (closest(first)?, closest(second)?);
    let middle = |r: Reading| r.before + (r.after - r.before) / 2;
    let ticks = middle(second).checked_sub(middle(first))?;
    let nanoseconds = second.nanoseconds.checked_sub(first.nanoseconds)?;
    (ticks > 0 && nanoseconds > 0).then(|| ticks as f64 * 1e9 / nanoseconds as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(before: u64, nanoseconds: u64, after: u64) -> Reading {
        Reading { before, nanoseconds, after }
    }

    #[test]
    fn the_closest_readings_count() {
        // There are 2.5 ticks in a nanosecond. The second reading of the first group and the first
        // reading of the second group were interrupted.
        let first = [reading(1_000, 404, 1_020), reading(1_020, 500, 90_000)];
        let second = [reading(251_000, 140_000, 900_000), reading(900_000, 360_004, 900_020)];
        let rate = rate(&first, &second).unwrap();
        assert!((rate - 2.5e9).abs() < 1e6, "{rate}");
    }

    #[test]
    fn a_clock_that_stands_still_has_no_rate() {
        let still = [reading(5, 0, 5)];
        assert_eq!(rate(&still, &[reading(5, 1_000, 5)]), None);
        assert_eq!(rate(&[], &still), None);
    }
}
