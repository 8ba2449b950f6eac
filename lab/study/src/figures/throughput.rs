//! Figures 5 and 7: acquisitions with one lock for all threads, and with 512 locks.

use super::plan::Plan;
use super::sentence::{list, number};
use super::ssync::{WINDOW, contenders, lock_load, over_threads};
use crate::figure::{Kind, Panel};
use crate::lab::Lab;
use crate::on;
use crate::world::World;

/// The number of locks in the figure of very low contention.
const LOCKS: usize = 512;

/// The plan of figure 5: extreme contention.
pub const ONE: Plan = Plan {
    id: "figure-5",
    title: "Throughput of the locks, one lock for all threads",
    x: "threads",
    y: "throughput (Mops/s)",
    kind: Kind::LogLines,
    measure: |lab, target| Some(on!(target, world => measure(lab, world, 1))),
    says,
};

/// The plan of figure 7: very low contention.
pub const MANY: Plan = Plan {
    id: "figure-7",
    title: "Throughput of the locks, 512 locks",
    kind: Kind::Lines,
    measure: |lab, target| Some(on!(target, world => measure(lab, world, LOCKS))),
    ..ONE
};

fn measure<W: World>(lab: &Lab, world: &W, count: usize) -> Panel {
    let contenders = contenders(world);
    over_threads(
        lab,
        world,
        &contenders,
        |c| c.name,
        |contender, threads, seed| {
            let mut load = lock_load(lab, world, contender.name, (threads, count), seed);
            if count == 1 {
                // It takes a while until growing back-offs and groups of waiters have settled.
                (load.warm_up, load.measured) = lab.whole_window::<W>(WINDOW);
            }
            (contender.throughput)(world, &load).per_second / 1e6
        },
    )
}

fn says(panels: &[Panel]) -> String {
    let machine = |panel: &Panel| {
        let all = panel.last();
        let (alone, best) = (panel.best(1)?, panel.best(all)?);
        let values = panel.series.iter().filter_map(|series| series.value(all));
        let worst = values.min_by(f64::total_cmp)?;
        Some(format!(
            "with {all} threads on {} {} is best, {} times as fast as the slowest lock and {} \
             times as fast as the best with one thread",
            panel.machine,
            best.0,
            number(best.1 / worst),
            number(best.1 / alone.1)
        ))
    };
    list(panels.iter().filter_map(machine))
}
