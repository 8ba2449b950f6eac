//! The whole measurement: for each distance the 30 cases, accesses that need nobody else, lines
//! that many share, and each thread with each other.
//!
//! All is done in several passes, each of which measures everything, so that a disturbance or a
//! change of frequency hits all cases alike. In each pass, and for each thread that measures,
//! the empty chain and the processor's frequency are measured anew.

mod local;

use crate::bench::{Bench, Lines};
use crate::case::{ACCESSES, Access, STATES, State, Step, Touch, steps};
use crate::error::Error;
use crate::measurement::{Cell, Distance, Measurement, Mine, Shared, Subject};
use crate::layout::Layout;
use crate::note::{self, Facts};
use crate::plan::{self, Crew};
use crate::sequence::{CHAIN, LAPS, PLACES, Timing, WORK, ticks};
use crate::statistic::{Summary, median, middle_mean};
use crate::topology::Source;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// How often all is measured.
    passes: u32,
    /// Samples of a case in a pass.
    rounds: u32,
    /// Pairs of threads for a distance.
    pairs: usize,
    /// Samples of a pair in the matrix.
    matrix_rounds: u32,
    /// Walk through memory.
    walks: bool,
}

impl Effort {
    /// For figures to rely on: a few seconds for a few processors, a minute or two for hundreds.
    pub const FULL: Effort =
        Effort { passes: 5, rounds: 60, pairs: 3, matrix_rounds: 25, walks: true };
    /// For a first look, and for tests.
    pub const QUICK: Effort =
        Effort { passes: 2, rounds: 20, pairs: 1, matrix_rounds: 7, walks: true };
    /// For a simulated machine, where each sample is as the other, and caches have no size.
    pub const SIMULATED: Effort =
        Effort { passes: 1, rounds: 2, pairs: 2, matrix_rounds: 1, walks: false };
}

/// How far a measurement has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Parts that are done.
    pub done: usize,
    /// All parts.
    pub of: usize,
}

/// Measures everything.
///
/// # Errors
/// If a thread can't be kept at its place, or there is no memory.
pub fn measure<B: Bench>(
    bench: &B,
    effort: &Effort,
    progress: &mut dyn FnMut(Progress),
) -> Result<Measurement, Error> {
    let topology = bench.topology();
    let classes = topology.classes.len();
    let crews: Vec<Vec<Crew>> =
        (0..classes).map(|class| plan::crews(topology, class, effort.pairs)).collect();
    let numbers = plan::numbers_of_sharers(topology);
    let threads = topology.threads.len();
    let passes = effort.passes as usize;
    let of = passes * (crews.iter().map(Vec::len).sum::<usize>() + numbers.len() + 1) + threads;
    let mut done = 0;
    let mut step = || {
        done += 1;
        progress(Progress { done, of });
    };

    let mut probe = Probe { bench, effort, clocks: Vec::new() };
    let mut cells = vec![Vec::new(); classes * CASES];
    let mut mine = vec![Vec::new(); classes * MINE.len()];
    let mut shared = vec![Vec::new(); numbers.len() * ACCESSES.len()];
    let mut own = local::Samples::default();
    let order = plan::nearest_first(topology, 0);
    for _ in 0..effort.passes {
        for (class, crews) in crews.iter().enumerate() {
            for crew in crews {
                let mine = &mut mine[class * MINE.len()..][..MINE.len()];
                probe.crew(crew, &mut cells[class * CASES..][..CASES], mine)?;
                step();
            }
        }
        for (n, &number) in numbers.iter().enumerate() {
            let samples = &mut shared[n * ACCESSES.len()..][..ACCESSES.len()];
            probe.shared(&order[..=number], samples)?;
            step();
        }
        local::measure(&mut probe, &mut own)?;
        step();
    }
    let matrix = probe.matrix(&mut step)?;

    let summaries = cells.iter().enumerate().filter_map(|(n, samples)| {
        let (access, state) = case(n % CASES);
        Some(Cell { access, state, distance: n / CASES, cycles: Summary::of(samples)? })
    });
    let mine = mine.iter().enumerate().filter_map(|(n, samples)| {
        let (distance, access) = (n / MINE.len(), MINE[n % MINE.len()]);
        Some(Mine { access, distance, cycles: Summary::of(samples)? })
    });
    let sharers = shared.iter().enumerate().filter_map(|(n, samples)| {
        let (sharers, access) = (numbers[n / ACCESSES.len()], ACCESSES[n % ACCESSES.len()]);
        Some(Shared { sharers, access, cycles: Summary::of(samples)? })
    });
    let mut measurement = Measurement {
        subject: probe.subject(),
        distances: distances(bench, &crews),
        cells: summaries.collect(),
        mine: mine.collect(),
        local: own.summary(),
        sharers: sharers.collect(),
        matrix,
        owned: bench.surroundings().owned,
        protocol: bench.surroundings().protocol,
        layout: Layout::of(topology),
        notes: Vec::new(),
    };
    measurement.notes = note::all(&Facts {
        surroundings: bench.surroundings(),
        source: &topology.source,
        caches: topology.caches,
        measurement: &measurement,
        frequencies: &probe.frequencies(),
        after_reading: median(&own.after_reading),
        crews: &crews,
    });
    Ok(measurement)
}

/// The cases of a distance.
const CASES: usize = ACCESSES.len() * STATES.len();

/// What is done to a line of one's own that another has read.
const MINE: [Access; 2] = [Access::Load, Access::Store];

fn case(n: usize) -> (Access, State) {
    (ACCESSES[n % ACCESSES.len()], STATES[n / ACCESSES.len()])
}

fn distances<B: Bench>(bench: &B, crews: &[Vec<Crew>]) -> Vec<Distance> {
    let topology = bench.topology();
    let processor = |thread: usize| topology.threads[thread].processor;
    let each = topology.classes.iter().zip(crews).enumerate();
    each.map(|(class, (about, crews))| Distance {
        name: about.name.clone(),
        same_core: about.same_core,
        same_cache: about.same_cache,
        pairs: plan::pairs(topology, class).len(),
        measured: crews.len(),
        example: (processor(crews[0].asker), processor(crews[0].holder)),
    })
    .collect()
}

/// What must be known of a thread before it measures, in ticks.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// Reading the clock.
    reading: f64,
    /// The loop around an access, without a fence and with one.
    around: [f64; 2],
    /// A cycle of the processor.
    cycle: f64,
}

impl Clock {
    /// Cycles of one access, of a chain's ticks.
    fn cycles(&self, ticks: u64, access: Access, laps: usize) -> f64 {
        let around = self.around[usize::from(access == Access::Store)];
        let each = (ticks as f64 - self.reading) / (laps * CHAIN) as f64;
        (each - around).max(0.0) / self.cycle
    }
}

/// A measurement on its way.
struct Probe<'b, B: Bench> {
    bench: &'b B,
    effort: &'b Effort,
    /// All that was found of clocks.
    clocks: Vec<Clock>,
}

impl<B: Bench> Probe<'_, B> {
    fn lines(&self, home: usize) -> Result<Lines<B::Memory>, Error> {
        self.bench.lines(PLACES, home)
    }

    /// Calibrates for a thread.
    fn clock(&mut self, lines: &Lines<B::Memory>, place: usize) -> Result<Clock, Error> {
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

    /// Cycles of an access, one for each round.
    fn cycles(
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

    /// All cases of a distance, by one crew.
    fn crew(
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
                continue; // The asker has the line, so this is not a load from others.
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

    /// All accesses to a line that all of these but the first share.
    fn shared(&mut self, places: &[usize], samples: &mut [Vec<f64>]) -> Result<(), Error> {
        let lines = self.lines(places[1])?;
        let clock = self.clock(&lines, places[0])?;
        let steps = steps(State::Shared, places.len() - 1);
        for (access, samples) in ACCESSES.into_iter().zip(samples) {
            samples.extend(self.cycles(&lines, places, &steps, access, clock)?);
        }
        Ok(())
    }

    /// Loads of lines that another thread has changed, of each by each.
    fn matrix(&mut self, step: &mut dyn FnMut()) -> Result<Vec<Vec<Option<f64>>>, Error> {
        let threads = self.bench.topology().threads.len();
        let mut matrix = vec![vec![None; threads]; threads];
        let steps = steps(State::Modified, 1);
        for holder in 0..threads {
            let lines = self.lines(holder)?;
            // One calibration for all who ask for this holder's lines.
            let clock = self.clock(&lines, holder)?;
            for asker in (0..threads).filter(|&asker| asker != holder) {
                let timing = Timing::Access(Access::Load);
                let rounds = self.effort.matrix_rounds;
                let samples = ticks(self.bench, &lines, &[asker, holder], &steps, timing, rounds)?;
                let cycles = samples.into_iter().map(|t| clock.cycles(t, Access::Load, 1));
                matrix[asker][holder] = median(&cycles.collect::<Vec<_>>());
            }
            step();
        }
        Ok(matrix)
    }

    /// Cycles of the processor in a second, each time that they were measured.
    fn frequencies(&self) -> Vec<f64> {
        self.clocks.iter().map(|clock| self.bench.ticks_per_second() / clock.cycle).collect()
    }

    fn subject(&self) -> Subject {
        let topology = self.bench.topology();
        let clock: Vec<f64> = self.clocks.iter().map(|c| c.reading / c.cycle).collect();
        Subject {
            title: self.bench.title(),
            native: self.bench.surroundings().native,
            processors: topology.threads.iter().map(|place| place.processor).collect(),
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
    fn what_is_around_an_access_is_subtracted_and_ticks_become_cycles() {
        // Two cycles to a tick; reading the clock takes 100 ticks, the loop 2, the fence 10 more.
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
