//! What SSYNC's figures have in common: the locks, the load, and series over numbers of threads.

use crate::figure::{Panel, Point, Series};
use crate::lab::Lab;
use crate::stress::contenders::Contender;
use crate::stress::{Homes, Load, Pause};
use crate::world::{Placement, World};

/// The nine locks of SSYNC, by their names in the catalogue.
pub const NINE: [&str; 9] =
    ["tas", "ttas", "ticket", "anderson", "futex", "mcs", "clh", "hclh", "hticket"];
/// Those of them that know groups of near processors.
const HIERARCHICAL: [&str; 2] = ["hclh", "hticket"];

/// The locks of SSYNC's figures on a machine: it ran hierarchical ones only where there are
/// sockets.
pub fn locks(has_sockets: bool) -> Vec<&'static str> {
    NINE.into_iter().filter(|name| has_sockets || !HIERARCHICAL.contains(name)).collect()
}

/// The contenders of SSYNC's figures on a world. Where a store to a shared line is a broadcast, its
/// ticket lock fetches lines for writing (section 5.3: "wherever possible").
pub fn contenders<W: World>(world: &W) -> Vec<Contender<W>> {
    let mut contenders = Contender::named(&locks(world.has_sockets()));
    let ticket = contenders.iter_mut().find(|contender| contender.name == "ticket");
    let prefetching = Contender::named(&["ticket_prefetch"]).pop();
    if let (true, Some(ticket), Some(prefetching)) = (world.broadcasts(), ticket, prefetching) {
        *ticket = Contender { name: ticket.name, ..prefetching };
    }
    contenders
}

/// Simulated seconds in which a point is measured: thousands of hand-overs.
pub const WINDOW: f64 = 200e-6;

/// SSYNC's way to load a machine.
pub fn load<W: World>(lab: &Lab, threads: usize, locks: usize, seed: u64) -> Load {
    let (warm_up, measured) = lab.window::<W>(WINDOW);
    Load {
        threads,
        placement: Placement::Near,
        locks,
        data: true,
        // Under extreme contention only: with many locks the next one is another one anyway.
        pause: if locks == 1 { Pause::Transfer } else { Pause::None },
        homes: Homes::First,
        timed: false,
        warm_up,
        measured,
        seed,
    }
}

/// Measures series over numbers of threads.
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
