//! The clock that the library reads.
//!
//! The time stamp counter is the cheapest, and can be trusted where the processor says
//! that it runs at one rate and never stops, and the kernel still offers it as a clock (it
//! withdraws a counter that it caught out of step). Its rate is measured here, once.
//! Elsewhere the library asks the kernel for `CLOCK_MONOTONIC`, in nanoseconds.

use syncline_recording::layout::{CLOCK_MONOTONIC, CLOCK_TSC};

/// A clock and its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// [`CLOCK_TSC`] or [`CLOCK_MONOTONIC`]
    pub kind: u32,
    /// Its rate, in hertz.
    pub ticks_per_second: u64,
}

const MONOTONIC: Clock = Clock { kind: CLOCK_MONOTONIC, ticks_per_second: 1_000_000_000 };

impl Clock {
    /// The best clock of this machine. Takes some 2 ms where it has to be measured.
    pub fn choose() -> Clock {
        match counter::rate() {
            Some(ticks_per_second) => Clock { kind: CLOCK_TSC, ticks_per_second },
            None => MONOTONIC,
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use std::fs;
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    /// An error of 100 ns at each end of this is one part in ten thousand. The program waits
    /// for it, so it is short.
    const MEASURED: Duration = Duration::from_millis(2);
    /// Readings at each end, of which the tightest counts.
    const READINGS: usize = 30;
    const CLOCK_SOURCES: &str =
        "/sys/devices/system/clocksource/clocksource0/available_clocksource";

    /// Its rate in hertz, or nothing where it can't be trusted.
    pub fn rate() -> Option<u64> {
        let processor = fs::read_to_string("/proc/cpuinfo").ok()?;
        let sources = fs::read_to_string(CLOCK_SOURCES).ok();
        trusted(&processor, sources.as_deref()).then(measure)
    }

    fn trusted(processor: &str, sources: Option<&str>) -> bool {
        let has = |text: &str, word| text.split_whitespace().any(|w| w == word);
        has(processor, "constant_tsc")
            && has(processor, "nonstop_tsc")
            && sources.is_none_or(|sources| has(sources, "tsc"))
    }

    fn measure() -> u64 {
        let (from, from_ticks) = reading();
        sleep(MEASURED);
        let (to, to_ticks) = reading();
        let ticks = to_ticks.wrapping_sub(from_ticks);
        (ticks as f64 / (to - from).as_secs_f64()).round() as u64
    }

    /// A moment and the counter at that moment: of several readings the one that the
    /// kernel's clock brackets most tightly, since an interruption widens the bracket.
    fn reading() -> (Instant, u64) {
        let one = || {
            let before = Instant::now();
            // SAFETY: every x86-64 processor has the instruction, and it only reads.
            let ticks = unsafe { core::arch::x86_64::_rdtsc() };
            let width = before.elapsed();
            (width, before + width / 2, ticks)
        };
        let tightest = (0..READINGS).map(|_| one()).min_by_key(|&(width, ..)| width);
        let (_, middle, ticks) = tightest.expect("there are several readings");
        (middle, ticks)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_counter_must_be_constant_and_nonstop_and_offered_by_the_kernel() {
            let good = "flags : fpu constant_tsc nonstop_tsc";
            assert!(trusted(good, Some("tsc kvm-clock")));
            assert!(trusted(good, None));
            assert!(!trusted(good, Some("hpet acpi_pm")));
            assert!(!trusted("flags : constant_tsc", None));
            assert!(!trusted("flags : nonstop_tsc", None));
        }

        #[test]
        fn measuring_twice_gives_the_same_rate() {
            let (one, two) = (measure() as f64, measure() as f64);
            assert!((one / two - 1.0).abs() < 0.001, "{one} and {two}");
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod counter {
    /// There is no counter that the library could read here.
    pub fn rate() -> Option<u64> {
        None
    }
}
