//! The locks, the load, and the series over numbers of threads that SSYNC's figures share.

use crate::figure::{Panel, Point, Series};
use crate::lab::Lab;
use crate::stress::contenders::Contender;
use crate::stress::{Homes, Load, Pause};
use crate::world::{Placement, World};

/// The nine locks of SSYNC, under their names in the catalogue.
pub const NINE: [&str; 9] =
    ["tas", "ttas", "ticket", "anderson", "futex", "mcs", "clh", "hclh", "hticket"];
/// Those of SSYNC's locks that are hierarchical, which group near processors.
const HIERARCHICAL: [&str; 2] = ["hclh", "hticket"];
/// The name of the C library's mutex in the catalogue.
const MUTEX: &str = "futex";

/// The locks of SSYNC's figures on a machine. SSYNC ran hierarchical locks only on machines with
/// several sockets.
pub fn locks(has_sockets: bool) -> Vec<&'static str> {
    NINE.into_iter().filter(|name| has_sockets || !HIERARCHICAL.contains(name)).collect()
}

/// The locks of SSYNC's figures in this world, with their tests.
pub fn contenders<W: World>(world: &W) -> Vec<Contender<W>> {
    Contender::named(&locks(world.has_sockets()))
}

/// Whether SSYNC's version of a lock fetches lines for writing before it reads them. If a store to
/// a shared line is a broadcast, SSYNC's own locks all do so (section 5.3: "wherever possible";
/// libslock, built for the Opteron, does too). The mutex is the C library's, and does not.
pub fn fetches_for_writing<W: World>(world: &W, lock: &str) -> bool {
    world.broadcasts() && lock != MUTEX
}

/// Simulated seconds of measurement for each point: thousands of hand-overs.
pub const WINDOW: f64 = 200e-6;

/// SSYNC's load, with this many threads and locks.
pub fn load<W: World>(lab: &Lab, threads: usize, locks: usize, seed: u64) -> Load {
    let (warm_up, measured) = lab.window::<W>(WINDOW);
    Load {
        threads,
        placement: Placement::Near,
        locks,
        data: true,
        // Threads pause only under extreme contention. With many locks, the next lock is usually
        // another one anyway.
        pause: if locks == 1 { Pause::Transfer } else { Pause::None },
        homes: Homes::First,
        fetch_for_writing: false,
        timed: false,
        warm_up,
        measured,
        seed,
    }
}

/// SSYNC's load for a lock, whose operations may fetch lines for writing.
pub fn lock_load<W: World>(
    lab: &Lab,
    world: &W,
    lock: &str,
    at: (usize, usize),
    seed: u64,
) -> Load {
    let (threads, locks) = at;
    let fetch_for_writing = fetches_for_writing(world, lock);
    Load { fetch_for_writing, ..load::<W>(lab, threads, locks, seed) }
}

/// Measures a series for each of `kinds`, over numbers of threads.
pub fn over_threads<W: World, S: Sync>(
    lab: &Lab,
    world: &W,
    kinds: &[S],
    name: impl Fn(&S) -> &str,
    measure: impl Fn(&S, usize, u64) -> f64 + Sync,
) -> Panel {
    let steps = world.steps();
    let points: Vec<(&S, usize)> =
        kinds.iter().flat_map(|kind| steps.iter().map(move |&step| (kind, step))).collect();
    let values =
        lab.measure::<W, _>(&points, |&(kind, threads), seed| measure(kind, threads, seed));
    let mut values = values.into_iter();
    let series = kinds.iter().map(|kind| Series {
        name: name(kind).to_owned(),
        points: steps
            .iter()
            .zip(&mut values)
            .map(|(&step, value)| Point::at(step, value))
            .collect(),
    });
    Panel { machine: world.name().to_owned(), series: series.collect() }
}
