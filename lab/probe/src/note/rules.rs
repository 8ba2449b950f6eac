//! Decides which notes a measurement gets. There is a function for each group of notes.

use super::Note;
use crate::case::{Access, State};
use crate::measurement::{Measurement, must_ask};
use crate::plan::{Crew, Sharer};
use crate::surroundings::Surroundings;
use crate::topology::{Caches, Source};
use syncline_statistics::Summary;

/// If the clock's ticks are longer than this, single samples are coarse. At 5 ns, a sample of 32
/// accesses is exact to 0.16 ns per access, which is half a cycle at 3 GHz.
const COARSE_NANOSECONDS: f64 = 5.0;
/// The least relative difference of frequencies that gets a note. On a busy machine, calibrations
/// differ by a percent or two anyway.
const FREQUENCY_CHANGE: f64 = 0.05;
/// The least share of outliers that gets a note. An idle machine has fewer.
const MANY_OUTLIERS: f64 = 0.02;
/// A cell counts as noisy only if the middle half of its samples spans more than this share of the
/// median.
const NOISY_SPREAD: f64 = 0.2;
/// A cell counts as noisy only if the middle half of its samples also spans more cycles than this,
/// since one cycle is a large share of a local access.
const NOISY_CYCLES: f64 = 4.0;
/// Neighbours count as sharing a cache only if a load of a line that the neighbour has changed
/// takes less than this share of the time of a load from memory. On SSYNC's machines the largest
/// share is 0.6 (Table 2, Opteron).
const AS_FAR_AS_MEMORY: f64 = 0.8;

/// The facts about a measurement that the rules need.
pub struct Facts<'a> {
    pub surroundings: &'a Surroundings,
    pub source: &'a Source,
    pub caches: Caches,
    pub measurement: &'a Measurement,
    /// The processor's cycles per second, by each calibration.
    pub frequencies: &'a [f64],
    /// The cycles of a store to a line that only the storing thread has read.
    pub after_reading: Option<f64>,
    /// The groups of threads that have measured, for each distance.
    pub crews: &'a [Vec<Crew>],
}

/// All notes that the measurement gets.
pub fn all(facts: &Facts<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    notes.extend(surroundings(facts));
    notes.extend(clock(facts));
    notes.extend(noise(facts.measurement));
    notes.extend(threads(facts));
    notes.extend(states(facts));
    notes.extend(caches(facts));
    notes.extend(description(facts));
    notes
}

fn surroundings(facts: &Facts<'_>) -> Vec<Note> {
    let here = facts.surroundings;
    let usable = facts.measurement.subject.processors.len();
    let machine = here.hypervisor.clone().map(|hypervisor| Note::VirtualMachine { hypervisor });
    let container = here.container.then_some(Note::Container);
    let restricted =
        (usable < here.online).then_some(Note::Restricted { usable, online: here.online });
    let quota =
        (here.parallelism < usable).then_some(Note::Quota { processors: here.parallelism, usable });
    let topology = match facts.source {
        Source::Linux { why } => Some(Note::WithoutHwloc { why: why.clone() }),
        _ => None,
    };
    let known = facts.caches.l1 > 0 || !here.native || topology.is_some();
    let caches = (!known).then_some(Note::CachesUnknown);
    [machine, container, restricted, quota, topology, caches].into_iter().flatten().collect()
}

fn clock(facts: &Facts<'_>) -> Vec<Note> {
    let tick = 1e9 / facts.measurement.subject.ticks_per_second;
    let uncertain = facts.surroundings.clock_fault.map(|fault| Note::UncertainClock { fault });
    let coarse = (facts.surroundings.native && tick > COARSE_NANOSECONDS)
        .then_some(Note::CoarseClock { nanoseconds: tick });
    let of = Summary::of(facts.frequencies);
    let changed = of.filter(|f| f.high - f.low > FREQUENCY_CHANGE * f.median);
    let changed = changed.map(|f| Note::FrequencyChanged {
        least_gigahertz: f.low / 1e9,
        most_gigahertz: f.high / 1e9,
    });
    [uncertain, coarse, changed].into_iter().flatten().collect()
}

fn noise(measurement: &Measurement) -> Vec<Note> {
    let cells: Vec<&Summary> = measurement.cells.iter().map(|cell| &cell.cycles).collect();
    let own = measurement.local.own.iter().map(|own| &own.cycles);
    let all: Vec<&Summary> = cells.iter().copied().chain(own).collect();
    let (count, of) = all.iter().fold((0, 0), |(c, n), s| (c + s.outliers, n + s.samples));
    let outliers =
        (count as f64 > MANY_OUTLIERS * of as f64).then_some(Note::Outliers { count, of });
    let noisy = |s: &&&Summary| {
        let differ = s.high - s.low;
        differ > NOISY_SPREAD * s.median && differ > NOISY_CYCLES
    };
    let (noisy, of) = (cells.iter().filter(noisy).count(), cells.len());
    let noisy = (noisy > 0).then_some(Note::Noisy { cells: noisy, of });
    [outliers, noisy].into_iter().flatten().collect()
}

fn threads(facts: &Facts<'_>) -> Vec<Note> {
    if facts.measurement.subject.processors.len() == 1 {
        return vec![Note::OneProcessor];
    }
    let elsewhere = |crew: &Crew| matches!(crew.sharer, Some(Sharer { as_far: false, .. }));
    let each = facts.measurement.distances.iter().zip(facts.crews);
    let notes = each.filter_map(|(distance, crews)| {
        let distance = distance.name.clone();
        if crews.iter().any(|crew| crew.sharer.is_none()) {
            Some(Note::NoThird { distance })
        } else {
            crews.iter().any(elsewhere).then_some(Note::SharerElsewhere { distance })
        }
    });
    notes.collect()
}

fn states(facts: &Facts<'_>) -> Vec<Note> {
    let shared = facts.measurement.subject.processors.len() > 1;
    let owned = match facts.surroundings.owned {
        Some(true) => None,
        Some(false) => Some(Note::NoOwned),
        None => Some(Note::OwnedUnknown),
    };
    let own = facts.measurement.own(Access::Store).map(|summary| summary.median);
    let exclusive =
        facts.after_reading.zip(own).filter(|&(cycles, own)| shared && must_ask(cycles, own));
    let exclusive = exclusive.map(|(cycles, own)| Note::NotExclusive { cycles, own });
    let measurement = facts.measurement;
    let taken = measurement.taken_over().into_iter().map(|distance| Note::ReadTakesOver {
        distance: measurement.distances[distance].name.clone(),
    });
    owned.filter(|_| shared).into_iter().chain(exclusive).chain(taken).collect()
}

/// Notes on figures that contradict what the machine reports about its caches.
fn caches(facts: &Facts<'_>) -> Vec<Note> {
    let measurement = facts.measurement;
    let memory = measurement.local.memory.median;
    let as_far = |cycles: f64| cycles > AS_FAR_AS_MEMORY * memory;
    let distances = measurement.distances.iter().enumerate();
    let apart = distances.filter_map(|(class, distance)| {
        let cycles = measurement.cell(Access::Load, State::Modified, class)?.median;
        (distance.same_cache && as_far(cycles)).then(|| Note::NotNear {
            distance: distance.name.clone(),
            cycles,
            memory,
        })
    });
    let walked = measurement.local.far_memory.as_ref().zip(measurement.local.llc.as_ref());
    let useless = walked.filter(|(memory, llc)| llc.median > AS_FAR_AS_MEMORY * memory.median);
    let useless = useless.map(|(_, llc)| Note::NoLastLevel { cycles: llc.median });
    apart.chain(useless).collect()
}

fn description(facts: &Facts<'_>) -> Vec<Note> {
    let measurement = facts.measurement;
    let missing = |state| {
        let distances = facts.measurement.layout.columns().map(|(class, _)| class);
        let cells: Vec<_> =
            distances.map(|class| measurement.cell(Access::Load, state, class)).collect();
        cells.iter().any(Option::is_none)
    };
    let shared = missing(State::Shared).then_some(Note::Assumed {
        what: "the cost of loads of shared lines",
        from: "loads of exclusive ones",
    });
    let owned = (missing(State::Owned) && measurement.describes_owned()).then_some(Note::Assumed {
        what: "the cost of loads of owned lines",
        from: "loads of modified ones",
    });
    let protocol = (facts.surroundings.native && facts.measurement.layout.nodes() > 1)
        .then_some(Note::AssumedProtocol { protocol: facts.surroundings.protocol });
    let (kept, of) = (facts.measurement.layout.threads(), measurement.subject.processors.len());
    let irregular = (kept < of).then_some(Note::Irregular { kept, of });
    [shared, owned, protocol, irregular].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests;
