//! The parts that SSYNC's figures share: the locks, the load, and the measurement of series over
//! numbers of threads.

use crate::figure::{Panel, Point, Series};
use crate::lab::Lab;
use crate::stress::contenders::Contender;
use crate::stress::{Homes, Load, Pause};
use crate::world::{Placement, World};

/// The nine locks of SSYNC, under their names in the catalogue.
pub const NINE: [&str; 9] =
    ["tas", "ttas", "ticket", "anderson", "futex", "mcs", "clh", "hclh", "hticket"];
/// SSYNC's hierarchical locks, which group processors that are near to each other.
const HIERARCHICAL: [&str; 2] = ["hclh", "hticket"];
/// The catalogue's lock that stands for the C library's mutex, one of SSYNC's nine locks.
const MUTEX: &str = "futex";

/// The locks of SSYNC's figures on a machine. SSYNC ran hierarchical locks only on machines with
/// several sockets.
pub fn locks(has_sockets: bool) -> Vec<&'static str> {
    NINE.into_iter().filter(|name| has_sockets || !HIERARCHICAL.contains(name)).collect()
}

/// The locks of SSYNC's figures in a world, with their tests.
pub fn contenders<W: World>(world: &W) -> Vec<Contender<W>> {
    Contender::named(&locks(world.has_sockets()))
}

/// Whether SSYNC's version of a lock fetches lines for writing before it reads them. On machines on
/// which a store to a shared line is a broadcast, all of SSYNC's own locks do so (section 5.3:
/// "wherever possible"; libslock, built for the Opteron, does too). The mutex does not, since it is
/// the C library's.
pub fn fetches_for_writing<W: World>(world: &W, lock: &str) -> bool {
    world.broadcasts() && lock != MUTEX
}

/// Simulated seconds of measurement for each point, in which there are thousands of hand-overs.
pub const WINDOW: f64 = 200e-6;

/// SSYNC's load with `threads` threads and `locks` locks.
pub fn load<W: World>(lab: &Lab, threads: usize, locks: usize, seed: u64) -> Load {
    let (warm_up, measured) = lab.window::<W>(WINDOW);
    Load {
        threads,
        placement: Placement::Near,
        locks,
        data: true,
        // Threads pause only under extreme contention. With many locks, a thread's next lock is
        // usually another one anyway.
        pause: if locks == 1 { Pause::Transfer } else { Pause::None },
        homes: Homes::First,
        fetch_for_writing: false,
        timed: false,
        warm_up,
        measured,
        seed,
    }
}

/// SSYNC's load for a lock. [`fetches_for_writing`] decides whether lines are fetched for writing.
/// `at` has the numbers of threads and of locks.
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
