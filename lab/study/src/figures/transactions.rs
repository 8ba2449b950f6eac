//! Transactions of a bank that has many branches or few, with and without audits. They run over
//! shared memory, over lock servers (TM2C), and under one lock.
//!
//! SSYNC's paper lists TM2C among its programs but has no figure of it, so there are no numbers of
//! the paper to compare with.

use super::plan::Plan;
use super::scalability::THREADS;
use super::sentence::{list, number};
use super::ssync::{WINDOW, load};
use crate::figure::{Kind, Panel, Point, Series};
use crate::lab::Lab;
use crate::on;
use crate::stress::transactions::{self, Bank};
use crate::stress::{Homes, Load, Outcome};
use crate::world::World;

/// The plan of the figure of transactions.
pub const PLAN: Plan = Plan {
    id: "transactions",
    title: "Throughput of transactions: a bank with branches of 8 accounts",
    x: "threads",
    y: "throughput (Mtx/s)",
    kind: Kind::LogLines,
    measure: |lab, target| Some(on!(target, world => measure(lab, world))),
    says,
};

/// The banks: two with low contention, then two with high. The first bank of each pair has
/// transfers only, and the second has four audits per transfer.
pub const BANKS: [Bank; 4] = [
    Bank { branches: 128, audits: 0 },
    Bank { branches: 128, audits: 80 },
    Bank { branches: 2, audits: 0 },
    Bank { branches: 2, audits: 80 },
];

/// The suffix of the series for the engine in shared memory.
pub const SHARED: &str = "shared memory";
/// The suffix of the series for lock servers.
pub const SERVED: &str = "lock servers";
/// The suffix of the series for one lock.
pub const LOCKED: &str = "one lock";

/// The name of the series for a bank and a kind of engine.
pub fn name(bank: Bank, kind: &str) -> String {
    format!("{} branches, {} % audits, {kind}", bank.branches, bank.audits)
}

type Run<W> = fn(&W, Bank, &Load) -> Outcome;

fn measure<W: World>(lab: &Lab, world: &W) -> Panel {
    let kinds: [(&str, Run<W>); 3] = [
        (SHARED, transactions::shared),
        (SERVED, transactions::served),
        (LOCKED, transactions::locked),
    ];
    let steps: Vec<usize> = world.steps().into_iter().filter(|&step| step <= THREADS).collect();
    let lines: Vec<(Bank, &str, Run<W>)> =
        BANKS.into_iter().flat_map(|bank| kinds.map(|(kind, run)| (bank, kind, run))).collect();
    let points: Vec<_> =
        lines.iter().flat_map(|line| steps.iter().map(move |&step| (line, step))).collect();
    let values = lab.measure::<W, _>(&points, |&(&(bank, _, run), threads), seed| {
        let (warm_up, measured) = lab.whole_window::<W>(WINDOW);
        let load = load::<W>(lab, threads, 2, seed);
        let load = Load { homes: Homes::Machine, warm_up, measured, ..load };
        run(world, bank, &load).per_second / 1e6
    });
    let mut values = values.into_iter();
    let series = lines.iter().map(|&(bank, kind, _)| Series {
        name: name(bank, kind),
        points: steps.iter().zip(&mut values).map(|(&step, y)| Point::at(step, y)).collect(),
    });
    Panel { machine: world.name().to_owned(), series: series.collect() }
}

fn says(panels: &[Panel]) -> String {
    let machine = |panel: &Panel| {
        let all = panel.last();
        let of = |bank, kind| panel.value(&name(bank, kind), all).map(number);
        let [many, _, few, _] = BANKS;
        Some(format!(
            "{all} threads on {} make, in a bank with {} branches, {} million transfers a second \
             over shared memory, {} over lock servers and {} under one lock, and in a bank with {} \
             branches {}, {} and {}",
            panel.machine,
            many.branches,
            of(many, SHARED)?,
            of(many, SERVED)?,
            of(many, LOCKED)?,
            few.branches,
            of(few, SHARED)?,
            of(few, SERVED)?,
            of(few, LOCKED)?
        ))
    };
    list(panels.iter().filter_map(machine))
}
