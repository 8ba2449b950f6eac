//! Measures accesses that need no other thread: to the thread's own lines, to the further levels of
//! its caches, and to its memory. The first thread makes all of these accesses.

use super::probe::Probe;
use crate::bench::Bench;
use crate::case::{ACCESSES, Access, Touch};
use crate::error::Error;
use crate::measurement::{Local, Own};
use crate::sequence::{LAPS, Timing, ticks};
use crate::topology::Caches;
use crate::walk::walk;
use syncline_statistics::{Summary, median};

/// The number of loads in a walk whose total time is one sample.
const STEPS: usize = 256;

/// A walk that is to miss all caches covers this many times the size of the largest cache, so that
/// few of its loads find their line there.
const BEYOND_LLC: usize = 4;
/// The most bytes that a walk covers. Preparing a walk takes a tenth of a second for each 128 MiB.
const MOST_MEMORY: usize = 1 << 30;

/// Samples in cycles, for each kind of access.
#[derive(Default)]
pub struct Samples {
    own: [Vec<f64>; ACCESSES.len()],
    /// Stores to a line that only this thread has read since the line was evicted.
    pub after_reading: Vec<f64>,
    flushed: Vec<f64>,
    l2: Vec<f64>,
    llc: Vec<f64>,
    memory: Vec<f64>,
}

impl Samples {
    /// Summarizes the samples.
    pub fn summary(&self) -> Local {
        let own = ACCESSES.into_iter().zip(&self.own);
        let own = own.filter_map(|(access, s)| Some(Own { access, cycles: Summary::of(s)? }));
        Local {
            own: own.collect(),
            l2: Summary::of(&self.l2),
            llc: Summary::of(&self.llc),
            memory: Summary::of(&self.flushed).unwrap_or_default(),
            far_memory: Summary::of(&self.memory),
        }
    }
}

/// Adds the samples of one pass, for each kind of access.
pub fn measure<B: Bench>(probe: &mut Probe<'_, B>, samples: &mut Samples) -> Result<(), Error> {
    let lines = probe.lines(0)?;
    let clock = probe.clock(&lines, 0)?;
    let store = (0, Touch::Store);
    let flushed = [store, (0, Touch::Evict)];
    let read = [store, (0, Touch::Evict), (0, Touch::Load)];
    for (access, own) in ACCESSES.into_iter().zip(&mut samples.own) {
        let timing = Timing::Own(access);
        let ticks = ticks(probe.bench, &lines, &[0], &[store], timing, probe.effort.rounds)?;
        own.extend(ticks.into_iter().map(|ticks| clock.cycles(ticks, access, LAPS)));
    }
    samples.after_reading.extend(probe.cycles(&lines, &[0], &read, Access::Store, clock)?);
    samples.flushed.extend(probe.cycles(&lines, &[0], &flushed, Access::Load, clock)?);

    let caches = probe.bench.topology().caches;
    if !probe.effort.walks || caches.l1 == 0 {
        return Ok(());
    }
    let walked = |bytes: usize| -> Result<Vec<f64>, Error> {
        let lines = probe.bench.lines(bytes / LINES_APART, 0)?;
        let ticks = walk(probe.bench, &lines, 0, STEPS, probe.effort.rounds)?;
        let cycles = |ticks: u64| ticks as f64 / STEPS as f64 / clock.cycle;
        Ok(ticks.into_iter().map(cycles).collect())
    };
    // In addition to its load, each step of a walk takes some time. This time is measured in the
    // first level of caches, where the time of the load is known.
    let known = median(&samples.own[0]).unwrap_or(0.0);
    let besides = (median(&walked(caches.l1 / 2)?).unwrap_or(0.0) - known).max(0.0);
    let [l2, llc, memory] = spans(&caches);
    let memory = memory.filter(|_| probe.effort.beyond);
    for (bytes, into) in
        [(l2, &mut samples.l2), (llc, &mut samples.llc), (memory, &mut samples.memory)]
    {
        if let Some(bytes) = bytes {
            into.extend(walked(bytes)?.into_iter().map(|cycles| (cycles - besides).max(0.0)));
        }
    }
    Ok(())
}

/// The distance between the lines of a walk in bytes. It is so large that fetching one line does
/// not fetch the next one too.
const LINES_APART: usize = 128;

/// The amounts of memory to walk through so that loads find their lines in the second level, in the
/// last level, and in no level. Each amount is well above the size of the level before and well
/// below the size of its own level. It is `None` if there is no such amount or no such level.
fn spans(caches: &Caches) -> [Option<usize>; 3] {
    let Caches { l1, l2, llc } = *caches;
    let between = |below: usize, size: usize| {
        let middle = (below as f64 * size as f64).sqrt() as usize;
        (size > 2 * below).then_some(middle.max(2 * below).min(size / 2))
    };
    let largest = l1.max(l2).max(llc);
    let memory = (BEYOND_LLC * largest).min(MOST_MEMORY);
    [between(l1, l2), between(l1.max(l2), llc), (largest > 0).then_some(memory)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_walk_fits_its_level_and_not_the_one_before() {
        let caches = Caches { l1: 32 << 10, l2: 1 << 20, llc: 32 << 20 };
        let [l2, llc, memory] = spans(&caches).map(Option::unwrap);
        assert!((2 * caches.l1..=caches.l2 / 2).contains(&l2));
        assert!((2 * caches.l2..=caches.llc / 2).contains(&llc));
        assert_eq!(memory, 128 << 20);
    }

    #[test]
    fn missing_cache_levels_are_not_walked() {
        let spans_of = |l1, l2, llc| spans(&Caches { l1, l2, llc });
        assert_eq!(spans_of(32 << 10, 0, 0)[..2], [None, None]);
        assert_eq!(spans_of(32 << 10, 0, 8 << 20)[0], None);
        assert!(spans_of(32 << 10, 0, 8 << 20)[1].is_some());
        assert_eq!(spans_of(0, 0, 0), [None; 3]);
    }
}
