//! This machine as a bench: its threads are pinned to processors, its lines are in new pages, and
//! its clock is the processor's time-stamp counter.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod processor;

mod calibrate;
mod region;
mod start;

use std::sync::atomic::AtomicU32;
use std::thread;

use syncline::memory::Native;

use super::interface::{Bench, Lines, Timed};
use crate::error::Error;
use crate::surroundings::Surroundings;
use crate::topology::Topology;
use crate::topology::linux::pin;
use region::Region;
use start::Start;

/// The processor's name in Linux or, if it has none there, the name of its architecture.
fn processor_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = |line: &str| Some(line.strip_prefix("model name")?.split_once(':')?.1.to_owned());
    let name = text.lines().find_map(name).unwrap_or_default();
    if name.trim().is_empty() { std::env::consts::ARCH.to_owned() } else { name.trim().to_owned() }
}

impl Timed for Native {
    type Region = Region;

    #[inline(always)]
    fn ticks() -> u64 {
        processor::ticks()
    }

    #[inline(always)]
    fn settle() {
        processor::settle();
    }

    #[inline(always)]
    fn evict(word: &AtomicU32) {
        processor::evict(word);
    }

    /// Replaces the default, for which the compiler may make two accesses.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn test_and_set(word: &AtomicU32) -> u32 {
        processor::test_and_set(word)
    }

    #[inline(always)]
    fn work(cycles: u32) {
        processor::work(cycles);
    }
}

/// This machine as a bench.
pub struct NativeBench {
    topology: Topology,
    surroundings: Surroundings,
    ticks_per_second: f64,
}

impl NativeBench {
    /// Makes a bench of this machine, with the processors that this process may use. This takes a
    /// tenth of a second, in which the processor's clock is compared with the system's clock.
    ///
    /// # Errors
    /// If the processors or their distances are unknown, or if the processor's clock does not
    /// advance.
    pub fn new() -> Result<NativeBench, Error> {
        let ticks_per_second =
            calibrate::ticks_per_second(processor::ticks).ok_or(Error::NoClock)?;
        let (topology, surroundings) =
            (Topology::here()?, Surroundings::here(processor::clock_fault()));
        Ok(NativeBench { topology, surroundings, ticks_per_second })
    }

    /// This machine, but with a given topology.
    #[cfg(test)]
    fn with(topology: Topology) -> NativeBench {
        NativeBench {
            topology,
            surroundings: Surroundings::here(processor::clock_fault()),
            ticks_per_second: 1e9,
        }
    }
}

impl Bench for NativeBench {
    type Memory = Native;

    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    fn title(&self) -> String {
        self.topology.processor.clone().unwrap_or_else(processor_name)
    }

    fn ticks_per_second(&self) -> f64 {
        self.ticks_per_second
    }

    /// On Linux, the first thread that touches a page decides its node. So a thread at `home`
    /// touches all pages first.
    fn lines(&self, count: usize, home: usize) -> Result<Lines<Native>, Error> {
        let lines = Lines { region: Region::new(count)?, home };
        self.run(&lines, &[home], &|_| lines.region.touch())?;
        Ok(lines)
    }

    fn run(
        &self,
        _: &Lines<Native>,
        places: &[usize],
        body: &(dyn Fn(usize) + Sync),
    ) -> Result<(), Error> {
        let start = Start::new(places.len());
        let member = |role: usize| {
            let pinned = pin(self.topology.threads[places[role]].processor);
            if start.arrive(pinned) {
                body(role);
            }
        };
        thread::scope(|scope| {
            for role in 0..places.len() {
                let member = &member;
                let started = thread::Builder::new().spawn_scoped(scope, move || member(role));
                if let Err(source) = started {
                    start.fail(Error::Thread { source });
                    break;
                }
            }
        });
        start.outcome()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::topology::HardwareThread;

    #[test]
    fn the_clock_goes_on_and_its_rate_is_plausible() {
        let bench = NativeBench::new().unwrap();
        let before = Native::ticks();
        Native::work(1_000_000);
        assert!(Native::ticks() > before);
        // This range contains the counters of small Arm systems and the fastest clocks that exist.
        assert!((1e6..1e11).contains(&bench.ticks_per_second), "{}", bench.ticks_per_second);
    }

    #[test]
    fn each_role_runs_once_on_its_hardware_thread() {
        let bench = NativeBench::new().unwrap();
        let lines = bench.lines(1, 0).unwrap();
        let places: Vec<usize> = (0..bench.topology.threads.len()).collect();
        let seen: Vec<AtomicU32> = places.iter().map(|_| AtomicU32::new(0)).collect();
        bench
            .run(&lines, &places, &|role| {
                let allowed = crate::topology::linux::usable().unwrap();
                assert_eq!(allowed, [bench.topology.threads[places[role]].processor]);
                seen[role].fetch_add(1, Relaxed);
            })
            .unwrap();
        assert!(seen.iter().all(|count| count.load(Relaxed) == 1));
    }

    #[test]
    fn a_processor_that_can_not_be_had_is_an_error_and_nothing_runs() {
        let mut topology = Topology::here().unwrap();
        topology.threads.push(HardwareThread { processor: 1023, ..HardwareThread::default() });
        let bench = NativeBench::with(topology);
        let lines = Lines { region: Region::new(1).unwrap(), home: 0 };
        let last = bench.topology.threads.len() - 1;
        let error = bench.run(&lines, &[0, last], &|_| panic!("it ran")).unwrap_err();
        assert!(error.to_string().contains("processor 1023"), "{error}");
    }

    #[test]
    fn an_evicted_word_keeps_its_value() {
        let word = AtomicU32::new(7);
        Native::evict(&word);
        Native::settle();
        assert_eq!(word.load(Relaxed), 7);
    }
}
