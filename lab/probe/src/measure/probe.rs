//! The measurements of one thread, or of one group of threads, in one pass.

use super::effort::Effort;
use crate::bench::{Bench, Lines};
use crate::case::{ACCESSES, Access, STATES, State, Step, Touch, steps};
use crate::error::Error;
use crate::measurement::Subject;
use crate::plan::Crew;
use crate::runs;
use crate::sequence::{CHAIN, LAPS, PLACES, Timing, WORK, ticks};
use crate::topology::Source;
use syncline_statistics::{median, middle_mean};

/// The number of cases that are measured for each distance.
pub(super) const CASES: usize = ACCESSES.len() * STATES.len();

/// The number of rounds for each sample of runs (`runs.rs`). There are fewer samples of runs than
/// of chains, since one sample of runs takes as long as several of chains.
const ROUNDS_OF_A_RUN: u32 = 6;

/// The operations that are measured on the thread's own line after another thread has read it.
pub(super) const MINE: [Access; 2] = [Access::Load, Access::Store];

pub(super) fn case(n: usize) -> (Access, State) {
    (ACCESSES[n % ACCESSES.len()], STATES[n / ACCESSES.len()])
}

/// The calibration of a thread, without which it can't measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The ticks that reading the clock takes.
    reading: f64,
    /// The ticks that the loop around an access takes: without a fence, and with one.
    around: [f64; 2],
    /// The ticks of one cycle of the processor.
    pub(super) cycle: f64,
}

impl Clock {
    /// The cycles of one access, computed from the ticks of a chain.
    pub(super) fn cycles(&self, ticks: u64, access: Access, laps: usize) -> f64 {
        let around = self.around[usize::from(access == Access::Store)];
        let each = (ticks as f64 - self.reading) / (laps * CHAIN) as f64;
        (each - around).max(0.0) / self.cycle
    }
}

/// A measurement that is in progress.
pub(super) struct Probe<'b, B: Bench> {
    pub(super) bench: &'b B,
    pub(super) effort: &'b Effort,
    /// The results of all calibrations. A thread may have been calibrated several times.
    clocks: Vec<Clock>,
}

impl<'b, B: Bench> Probe<'b, B> {
    /// Begins a measurement on this bench.
    pub(super) fn new(bench: &'b B, effort: &'b Effort) -> Self {
        Probe { bench, effort, clocks: Vec::new() }
    }

    /// Allocates the lines for chains.
    pub(super) fn lines(&self, home: usize) -> Result<Lines<B::Memory>, Error> {
        self.bench.lines(PLACES, home)
    }

    /// Calibrates the clock of a thread.
    pub(super) fn clock(&mut self, lines: &Lines<B::Memory>, place: usize) -> Result<Clock, Error> {
        let of = |timing| -> Result<f64, Error> {
            let samples = ticks(self.bench, lines, &[place], &[], timing, self.effort.rounds)?;
            let samples: Vec<f64> = samples.into_iter().map(|ticks| ticks as f64).collect();
            middle_mean(&samples).ok_or(Error::NoClock)
        };
        let reading = of(Timing::Clock)?;
        let around = |chain: f64| (chain - reading).max(0.0) / (LAPS * CHAIN) as f64;
        let around = [
            around(of(Timing::Nothing { fences: false })?),
            around(of(Timing::Nothing { fences: true })?),
        ];
        let cycle = (of(Timing::Work)? - reading) / f64::from(WORK);
        if cycle <= 0.0 {
            return Err(Error::NoClock);
        }
        let clock = Clock { reading, around, cycle };
        self.clocks.push(clock);
        Ok(clock)
    }

    /// The cycles of an access, one value for each round.
    pub(super) fn cycles(
        &self,
        lines: &Lines<B::Memory>,
        places: &[usize],
        steps: &[Step],
        access: Access,
        clock: Clock,
    ) -> Result<Vec<f64>, Error> {
        let rounds = self.effort.rounds;
        let samples = ticks(self.bench, lines, places, steps, Timing::Access(access), rounds)?;
        Ok(samples.into_iter().map(|ticks| clock.cycles(ticks, access, 1)).collect())
    }

    /// Measures all cases of a distance with one group of threads.
    pub(super) fn crew(
        &mut self,
        crew: &Crew,
        samples: &mut [Vec<f64>],
        mine: &mut [Vec<f64>],
    ) -> Result<(), Error> {
        let lines = self.lines(crew.holder)?;
        let clock = self.clock(&lines, crew.asker)?;
        for (n, samples) in samples.iter_mut().enumerate() {
            let (access, state) = case(n);
            let shared = matches!(state, State::Owned | State::Shared);
            let places = if shared { crew.places() } else { crew.pair() };
            if shared && places.len() == 2 && access == Access::Load {
                continue; // The asker has the line itself.
            }
            let steps = steps(state, places.len() - 1);
            samples.extend(self.cycles(&lines, &places, &steps, access, clock)?);
        }
        let steps = [(0, Touch::Store), (1, Touch::Load)];
        for (access, samples) in MINE.into_iter().zip(mine) {
            samples.extend(self.cycles(&lines, &crew.pair(), &steps, access, clock)?);
        }
        Ok(())
    }

    /// Measures how long a line stays with its owner after another thread has requested it. Adds a
    /// share for each sample; see `runs::share`.
    pub(super) fn stays(&self, crew: &Crew, samples: &mut Vec<f64>) -> Result<(), Error> {
        let lines = self.bench.lines(1, crew.holder)?;
        for _ in 0..self.effort.rounds.div_ceil(ROUNDS_OF_A_RUN) {
            samples.extend(runs::share(self.bench, &lines, [crew.asker, crew.holder])?);
        }
        Ok(())
    }

    /// Measures how many loads are under way at the same time. Adds a number for each round.
    pub(super) fn under_way(&mut self, crew: &Crew, samples: &mut Vec<f64>) -> Result<(), Error> {
        let lines = self.lines(crew.holder)?;
        let clock = self.clock(&lines, crew.asker)?;
        let steps = steps(State::Modified, 1);
        let times = |timing| -> Result<Vec<f64>, Error> {
            let ticks =
                ticks(self.bench, &lines, &crew.pair(), &steps, timing, self.effort.rounds)?;
            Ok(ticks.into_iter().map(|ticks| (ticks as f64 - clock.reading).max(1.0)).collect())
        };
        let apart = times(Timing::Access(Access::Load))?;
        samples.extend(apart.iter().zip(times(Timing::Together)?).map(|(a, b)| a / b));
        Ok(())
    }

    /// Measures all accesses by the first of these threads to a line that the other threads share.
    pub(super) fn shared(
        &mut self,
        places: &[usize],
        samples: &mut [Vec<f64>],
    ) -> Result<(), Error> {
        let lines = self.lines(places[1])?;
        let clock = self.clock(&lines, places[0])?;
        let steps = steps(State::Shared, places.len() - 1);
        for (access, samples) in ACCESSES.into_iter().zip(samples) {
            samples.extend(self.cycles(&lines, places, &steps, access, clock)?);
        }
        Ok(())
    }

    /// Measures, for each pair of threads, loads by one thread of lines that the other one has
    /// changed.
    pub(super) fn matrix(
        &mut self,
        step: &mut dyn FnMut(),
    ) -> Result<Vec<Vec<Option<f64>>>, Error> {
        let threads = self.bench.topology().threads.len();
        let mut matrix = vec![vec![None; threads]; threads];
        let steps = steps(State::Modified, 1);
        for holder in 0..threads {
            let lines = self.lines(holder)?;
            // The clock is calibrated once for all threads that load this holder's lines.
            let clock = self.clock(&lines, holder)?;
            for (asker, row) in matrix.iter_mut().enumerate() {
                if asker == holder {
                    continue;
                }
                let timing = Timing::Access(Access::Load);
                let rounds = self.effort.matrix_rounds;
                let samples = ticks(self.bench, &lines, &[asker, holder], &steps, timing, rounds)?;
                let cycles = samples.into_iter().map(|t| clock.cycles(t, Access::Load, 1));
                row[holder] = median(&cycles.collect::<Vec<_>>());
            }
            step();
        }
        Ok(matrix)
    }

    /// The cycles per second of the processor, by each calibration.
    pub(super) fn frequencies(&self) -> Vec<f64> {
        self.clocks.iter().map(|clock| self.bench.ticks_per_second() / clock.cycle).collect()
    }

    pub(super) fn subject(&self) -> Subject {
        let topology = self.bench.topology();
        let clock: Vec<f64> = self.clocks.iter().map(|c| c.reading / c.cycle).collect();
        Subject {
            title: self.bench.title(),
            native: self.bench.surroundings().native,
            processors: topology.threads.iter().map(|place| place.processor).collect(),
            places: topology.threads.clone(),
            caches: topology.caches,
            store_buffer: self.bench.surroundings().store_buffer,
            hertz: median(&self.frequencies()).unwrap_or(self.bench.ticks_per_second()),
            ticks_per_second: self.bench.ticks_per_second(),
            clock_cycles: median(&clock).unwrap_or(0.0),
            topology: match topology.source {
                Source::Hwloc => "hwloc",
                Source::Linux { .. } => "linux",
                Source::Description => "description",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_is_subtracted_and_ticks_become_cycles() {
        // A tick has two cycles. Reading the clock takes 100 ticks, the loop 2, and the fence 10
        // more.
        let clock = Clock { reading: 100.0, around: [2.0, 12.0], cycle: 0.5 };
        let cycles = |each: u64, access, laps: usize| {
            clock.cycles(100 + each * (laps * CHAIN) as u64, access, laps)
        };
        assert_eq!(cycles(22, Access::Load, 1), 40.0);
        assert_eq!(cycles(22, Access::Swap, 3), 40.0);
        assert_eq!(cycles(32, Access::Store, 1), 40.0);
        assert_eq!(cycles(1, Access::Load, 1), 0.0, "and never below nothing");
    }

    #[test]
    fn the_cases_of_a_distance_are_all_pairs() {
        let cases: Vec<_> = (0..CASES).map(case).collect();
        assert_eq!(cases.len(), 30);
        assert_eq!(cases[0], (Access::Load, State::Modified));
        assert_eq!(cases[29], (Access::Swap, State::Invalid));
    }
}
