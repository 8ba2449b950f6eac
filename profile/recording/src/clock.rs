//! Chooses the clock that a preloaded library reads, and measures its rate.
//!
//! The time stamp counter is the cheapest clock. It can be trusted if the processor says that it
//! runs at one rate and never stops, and if the kernel offers it as a clock or does not say which
//! clocks it offers. (If the counters of several processors differ, the kernel withdraws it.) Its
//! rate is measured here, once, while the command makes its other preparations. If the counter
//! can't be trusted, the library asks the kernel for `CLOCK_MONOTONIC`, in nanoseconds.

use crate::layout::{CLOCK_MONOTONIC, CLOCK_TSC};

/// A clock and its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// [`CLOCK_TSC`] or [`CLOCK_MONOTONIC`]
    pub kind: u32,
    /// How many ticks it has in a second.
    pub ticks_per_second: u64,
}

const MONOTONIC: Clock = Clock { kind: CLOCK_MONOTONIC, ticks_per_second: 1_000_000_000 };

/// A choice that has begun. If the clock has to be measured, the choice is ready 2 ms after its
/// beginning.
pub struct Choosing(Option<counter::Measuring>);

impl Clock {
    /// Chooses the best clock of this machine. Takes about 2 ms if the clock has to be measured.
    pub fn choose() -> Clock {
        Clock::begin_choosing().finish()
    }

    /// Begins the choice. If the command does something else before it calls [`Choosing::finish`],
    /// it has to wait less there.
    pub fn begin_choosing() -> Choosing {
        Choosing(counter::begin())
    }
}

impl Choosing {
    /// Waits until the choice is ready, and returns the best clock of this machine.
    pub fn finish(self) -> Clock {
        match self.0 {
            Some(measuring) => Clock { kind: CLOCK_TSC, ticks_per_second: measuring.rate() },
            None => MONOTONIC,
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc};
    use std::fs;
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    /// How long the counter is measured. That is short because the recorded program starts only
    /// afterwards. It is long enough because an error of 100 ns at each end changes the rate by
    /// only one part in ten thousand.
    const MEASURED: Duration = Duration::from_millis(2);
    /// How often the counter is read at each end. Only the most precise reading is used.
    const READINGS: usize = 30;
    const CLOCK_SOURCES: &str =
        "/sys/devices/system/clocksource/clocksource0/available_clocksource";

    /// The first reading of the counter. Together with a second reading it gives the rate.
    pub struct Measuring {
        from: Instant,
        from_ticks: u64,
    }

    /// Reads the counter for the first time; `None` if the counter can't be trusted.
    pub fn begin() -> Option<Measuring> {
        let sources = fs::read_to_string(CLOCK_SOURCES).ok();
        (is_invariant() && offers_counter(sources.as_deref())).then(|| {
            let (from, from_ticks) = reading();
            Measuring { from, from_ticks }
        })
    }

    impl Measuring {
        /// Waits until enough time has passed, reads the counter again, and returns its ticks per
        /// second.
        pub fn rate(self) -> u64 {
            sleep(MEASURED.saturating_sub(self.from.elapsed()));
            let (to, to_ticks) = reading();
            let ticks = to_ticks.wrapping_sub(self.from_ticks);
            (ticks as f64 / (to - self.from).as_secs_f64()).round() as u64
        }
    }

    /// Whether the counter runs at one rate in all states of the processor. Intel and AMD define
    /// the same bit for this ("invariant TSC").
    fn is_invariant() -> bool {
        const HIGHEST: u32 = 0x8000_0000;
        const POWER: u32 = 0x8000_0007;
        const INVARIANT: u32 = 1 << 8;
        __cpuid(HIGHEST).eax >= POWER && __cpuid(POWER).edx & INVARIANT != 0
    }

    /// Whether the counter is in this list of the kernel's clock sources; true if there is no list.
    fn offers_counter(sources: Option<&str>) -> bool {
        sources.is_none_or(|sources| sources.split_whitespace().any(|source| source == "tsc"))
    }

    /// A moment, and the counter's value at that moment. The counter is read several times, each
    /// time between two readings of the kernel's clock. The result is the reading with the least
    /// time between these, since an interruption would increase that time.
    fn reading() -> (Instant, u64) {
        let one = || {
            let before = Instant::now();
            // SAFETY: every x86-64 processor has the instruction, and it only reads.
            let ticks = unsafe { _rdtsc() };
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

        /// What the kernel says about the processor agrees with what the processor says.
        #[test]
        fn the_kernel_agrees_on_whether_the_counter_is_invariant() {
            let processor = fs::read_to_string("/proc/cpuinfo").expect("it is always there");
            let has = |flag| processor.split_whitespace().any(|word| word == flag);
            assert_eq!(is_invariant(), has("constant_tsc") && has("nonstop_tsc"));
        }

        #[test]
        fn the_counter_is_used_only_if_the_kernel_offers_it() {
            assert!(offers_counter(Some("tsc kvm-clock")));
            assert!(offers_counter(None));
            assert!(!offers_counter(Some("hpet acpi_pm")));
        }

        #[test]
        fn measuring_twice_gives_the_same_rate() {
            let [one, two] = [(); 2].map(|()| begin().map(|measuring| measuring.rate() as f64));
            let differ = one.zip(two).map_or(0.0, |(one, two)| (one / two - 1.0).abs());
            assert!(differ < 0.001, "{one:?} and {two:?}");
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod counter {
    /// There are no values of this type: on this architecture the library reads no counter, so none
    /// is measured.
    pub enum Measuring {}

    pub fn begin() -> Option<Measuring> {
        None
    }

    impl Measuring {
        pub fn rate(self) -> u64 {
            match self {}
        }
    }
}
