//! Figure 6: the latency of acquiring a free lock, by the position of its last holder.

use super::plan::Plan;
use super::sentence::{list, number};
use super::ssync::{contenders, fetches_for_writing};
use crate::figure::{Kind, Panel, Point, Series};
use crate::lab::{Effort, Lab};
use crate::on;
use crate::stress::uncontended::Turns;
use crate::world::World;

/// The plan of figure 6.
pub const PLAN: Plan = Plan {
    id: "figure-6",
    title: "Latency of taking a free lock, by the place of its last holder",
    x: "place of the last holder",
    y: "latency (cycles)",
    kind: Kind::Bars,
    measure: |lab, target| Some(on!(target, world => measure(lab, world))),
    says,
};

/// The label for an acquisition by the thread that was itself the last holder.
pub const ALONE: &str = "same thread";
/// The number of measured acquisitions on simulated machines, where acquisitions hardly differ from
/// each other.
const TURNS: u32 = 200;
/// The factor by which more acquisitions are measured on a real machine.
const HERE: u32 = 100;

fn measure<W: World>(lab: &Lab, world: &W) -> Panel {
    let contenders = contenders(world);
    let partners = world.partners().into_iter().map(|(name, place)| (name, Some(place)));
    let partners: Vec<_> = [(ALONE.to_owned(), None)].into_iter().chain(partners).collect();
    let turns = match (W::SIMULATED, lab.effort) {
        (false, _) => TURNS * HERE,
        (true, Effort::Small) => TURNS / 4,
        (true, _) => TURNS,
    };
    let points: Vec<_> = contenders
        .iter()
        .flat_map(|c| partners.iter().map(move |(_, place)| (c, *place)))
        .collect();
    let values = lab.measure::<W, _>(&points, |(contender, place), seed| {
        let fetch_for_writing = fetches_for_writing(world, contender.name);
        let turns = Turns { warm_up: turns / 10, measured: turns, fetch_for_writing, seed };
        (contender.uncontended)(world, *place, &turns)
    });
    let mut values = values.into_iter();
    let series = contenders.iter().map(|contender| Series {
        name: contender.name.to_owned(),
        points: partners
            .iter()
            .zip(&mut values)
            .enumerate()
            .map(|(x, ((label, _), y))| Point {
                x: x as f64,
                label: label.clone(),
                y,
                note: String::new(),
            })
            .collect(),
    });
    Panel { machine: world.name().to_owned(), series: series.collect() }
}

fn says(panels: &[Panel]) -> String {
    let machine = |panel: &Panel| {
        let ticket = panel.series("ticket")?;
        let (near, far) = (ticket.points.first()?, ticket.points.last()?);
        Some(format!(
            "a free ticket lock on {} costs {} cycles if this thread had it last, and {} if a \
             thread at a distance had it ({})",
            panel.machine,
            number(near.y),
            number(far.y),
            far.label
        ))
    };
    list(panels.iter().filter_map(machine))
}
