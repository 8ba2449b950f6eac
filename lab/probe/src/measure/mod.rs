//! The whole measurement. It measures the 30 cases for each distance, accesses that need no other
//! thread, accesses to lines that many threads share, and loads between each pair of threads.
//!
//! The measurement has several passes, so that a disturbance or a change of frequency affects all
//! cases alike. Each pass measures everything except the loads between each pair, which are
//! measured once at the end. In each pass, and for each thread that measures, the empty chain and
//! the processor's frequency are measured again.

mod effort;
mod local;
mod probe;

use crate::bench::Bench;
use crate::case::{ACCESSES, Access, State, steps};
use crate::error::Error;
use crate::layout::Layout;
use crate::measurement::{Cell, Distance, Measurement, Mine, Shared, Stays, UnderWay};
use crate::note::rules::{self, Facts};
use crate::plan::{self, Crew};
pub use effort::{Effort, Progress};
use probe::{CASES, MINE, Probe, case};
use syncline_statistics::{Summary, median};

/// Measures everything.
///
/// # Errors
/// If a thread can't be started or can't be pinned to its place, if there is too little memory, or
/// if the clock stands still.
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

    let mut probe = Probe::new(bench, effort);
    let mut cells = vec![Vec::new(); classes * CASES];
    let mut mine = vec![Vec::new(); classes * MINE.len()];
    let mut stays = vec![Vec::new(); classes];
    let mut under_way = vec![Vec::new(); classes];
    let mut shared = vec![Vec::new(); numbers.len() * ACCESSES.len()];
    let mut own = local::Samples::default();
    let order = plan::nearest_first(topology, 0);
    for _ in 0..effort.passes {
        for (class, crews) in crews.iter().enumerate() {
            for crew in crews {
                let mine = &mut mine[class * MINE.len()..][..MINE.len()];
                probe.crew(crew, &mut cells[class * CASES..][..CASES], mine)?;
                probe.stays(crew, &mut stays[class])?;
                probe.under_way(crew, &mut under_way[class])?;
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
    let stays = stays
        .iter()
        .enumerate()
        .filter_map(|(distance, samples)| Some(Stays { distance, share: Summary::of(samples)? }));
    let under_way = under_way.iter().enumerate();
    let under_way = under_way.filter_map(|(distance, samples)| {
        Some(UnderWay { distance, loads: Summary::of(samples)? })
    });
    let mut measurement = Measurement {
        subject: probe.subject(),
        distances: distances(bench, &crews),
        cells: summaries.collect(),
        mine: mine.collect(),
        stays: stays.collect(),
        under_way: under_way.collect(),
        local: own.summary(),
        sharers: sharers.collect(),
        matrix,
        owned: bench.surroundings().owned,
        protocol: bench.surroundings().protocol,
        layout: Layout::of(topology),
        notes: Vec::new(),
    };
    measurement.notes = rules::all(&Facts {
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

/// The cycles that the first thread needs to load a line that the second thread has changed; `None`
/// if there is only one thread. Takes a few milliseconds. It is used to find out whether a machine
/// has changed.
///
/// # Errors
/// In the same cases as [`measure`].
pub fn changed_line<B: Bench>(bench: &B) -> Result<Option<f64>, Error> {
    let mut probe = Probe::new(bench, &Effort::FULL);
    let lines = probe.lines(0)?;
    let clock = probe.clock(&lines, 0)?;
    if bench.topology().threads.len() < 2 {
        return Ok(None);
    }
    let steps = steps(State::Modified, 1);
    Ok(median(&probe.cycles(&lines, &[0, 1], &steps, Access::Load, clock)?))
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
