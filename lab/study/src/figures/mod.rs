//! The figures and tables of SSYNC, those of the paper on MPI's passive target and three of Argo, each with
//! what is measured for it and the sentence that says what came of it. A new one is a file, and a line in [`PLANS`].

mod atomics;
pub mod memcached;
pub mod messages;
pub mod placement;
pub mod scalability;
pub mod sentence;
pub mod shared_memory;
pub mod table;
pub mod tables;
mod throughput;
mod ticket;
pub mod transactions;
pub mod uncontended;
pub mod windows;

use crate::figure::{Figure, Kind, Panel, Point, Series};
use crate::lab::Lab;
use crate::stress::contenders::Contender;
use crate::stress::{Homes, Load, Pause};
use crate::target::Target;
use crate::world::{Placement, World};

/// How a figure comes to be.
pub struct Plan {
    /// As SSYNC calls it: `figure-5`, `table-2`.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Its horizontal axis, with the unit.
    pub x: &'static str,
    /// Its vertical axis, with the unit.
    pub y: &'static str,
    /// How it is drawn.
    pub kind: Kind,
    /// Measures it on a machine; `None` if it has no sense there.
    pub measure: fn(&Lab, &Target) -> Option<Panel>,
    /// What the panels show, in a sentence.
    pub says: fn(&[Panel]) -> String,
}

/// All of them, in the order of the papers. In a constant, their code would be made anew in each crate
/// that uses it.
pub static PLANS: [Plan; 24] = [
    tables::REMOTE,
    tables::LOCAL,
    ticket::PLAN,
    atomics::PLAN,
    atomics::LATENCY,
    throughput::ONE,
    uncontended::PLAN,
    throughput::MANY,
    scalability::PLAN,
    messages::TWO,
    messages::SERVER,
    table::PLAN,
    table::UNPINNED,
    memcached::PLAN,
    transactions::PLAN,
    placement::PLAN,
    windows::SHARED,
    windows::MIXED,
    windows::EXCLUSIVE,
    windows::QUARTILES,
    windows::WRITER,
    shared_memory::SCHEMES,
    shared_memory::BUFFERS,
    shared_memory::SCALING,
];

impl Plan {
    /// Measures the figure on these machines.
    pub fn figure(
        &self,
        lab: &Lab,
        targets: &[Target],
        mut step: impl FnMut(&Plan, &Target),
    ) -> Figure {
        let panels = targets.iter().filter_map(|target| {
            step(self, target);
            (self.measure)(lab, target)
        });
        let panels: Vec<Panel> = panels.collect();
        let says = (self.says)(&panels);
        let Plan { id, title, x, y, kind, .. } = *self;
        Figure { id, title, x, y, kind, panels, says }
    }
}

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
fn contenders<W: World>(world: &W) -> Vec<Contender<W>> {
    let mut contenders = Contender::named(&locks(world.has_sockets()));
    let ticket = contenders.iter_mut().find(|contender| contender.name == "ticket");
    let prefetching = Contender::named(&["ticket_prefetch"]).pop();
    if let (true, Some(ticket), Some(prefetching)) = (world.broadcasts(), ticket, prefetching) {
        *ticket = Contender { name: ticket.name, ..prefetching };
    }
    contenders
}

/// Simulated seconds in which a point is measured: thousands of hand-overs.
const WINDOW: f64 = 200e-6;

/// SSYNC's way to load a machine.
fn load<W: World>(lab: &Lab, threads: usize, locks: usize, seed: u64) -> Load {
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
fn over_threads<W: World, S: Sync>(
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
