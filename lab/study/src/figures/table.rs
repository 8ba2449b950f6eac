//! Figure 11: the hash table under low and high contention, with short and long buckets, with the
//! best lock and with servers. A second figure shows threads that are not pinned (section 6.3).

use syncline_sim::Machine;

use super::messages::with_messages;
use super::plan::Plan;
use super::scalability::THREADS;
use super::sentence::{list, number};
use super::ssync::{WINDOW, contenders, fetches_for_writing, load};
use crate::figure::{Kind, Panel, Point, Series};
use crate::lab::Lab;
use crate::on;
use crate::stress::contenders::Contender;
use crate::stress::hardware_table;
use crate::stress::table::{self, Shape};
use crate::stress::{Homes, Load};
use crate::world::{Placement, World};

/// The plan of figure 11.
pub const PLAN: Plan = Plan {
    id: "figure-11",
    title: "Throughput of the hash table: 80 % get, 10 % put, 10 % remove",
    x: "threads",
    y: "throughput (Mops/s)",
    kind: Kind::LogLines,
    measure: |lab, target| {
        let machine = with_messages(target);
        Some(on!(target, world => measure(lab, world, machine, Placement::Near, &SHAPES)))
    },
    says,
};

/// The plan of the table under high contention with threads that are not pinned.
pub const UNPINNED: Plan = Plan {
    id: "figure-11-unpinned",
    title: "Throughput of the hash table of 12 buckets, threads not pinned",
    measure: |lab, target| {
        let machine = with_messages(target);
        Some(on!(target, world => measure(lab, world, machine, Placement::Anywhere, &SHAPES[2..])))
    },
    ..PLAN
};

/// The shapes of the tables: low contention with short and long buckets, then high contention.
pub const SHAPES: [Shape; 4] = [
    Shape { buckets: 512, keys: 12 },
    Shape { buckets: 512, keys: 48 },
    Shape { buckets: 12, keys: 12 },
    Shape { buckets: 12, keys: 48 },
];
/// The suffix of the series with servers instead of locks.
pub const SERVED: &str = ", servers";

/// The name of the series for a table of this shape.
pub fn name(shape: Shape) -> String {
    format!("{} buckets of {}", shape.buckets, shape.keys)
}

/// Measures the tables. `hardware` is the machine if it has messages in hardware. On such a
/// machine, SSYNC's library calls servers with these messages. They are sent to hardware threads,
/// so only pinned threads can use them.
fn measure<W: World>(
    lab: &Lab,
    world: &W,
    hardware: Option<&Machine>,
    placement: Placement,
    shapes: &[Shape],
) -> Panel {
    let hardware = hardware.filter(|_| placement != Placement::Anywhere);
    let contenders = contenders(world);
    // `None` stands for servers.
    let kinds: Vec<Option<&Contender<W>>> = contenders.iter().map(Some).chain([None]).collect();
    let steps: Vec<usize> = world.steps().into_iter().filter(|&step| step <= THREADS).collect();
    let mut points = Vec::new();
    for &shape in shapes {
        for &threads in &steps {
            points.extend(kinds.iter().map(|kind| (shape, threads, *kind)));
        }
    }
    let values = lab.measure::<W, _>(&points, |&(shape, threads, kind), seed| {
        let (warm_up, measured) = lab.whole_window::<W>(WINDOW);
        let load = load::<W>(lab, threads, 2, seed);
        let fetch_for_writing = kind.is_some_and(|lock| fetches_for_writing(world, lock.name));
        let homes = Homes::Machine;
        let load = Load { placement, homes, fetch_for_writing, warm_up, measured, ..load };
        let per_second = match (kind, hardware) {
            (Some(contender), _) => (contender.table)(world, shape, &load).per_second,
            (None, None) => table::served(world, shape, &load).per_second,
            (None, Some(machine)) => {
                let places = world.places(threads.max(2), placement);
                hardware_table::served(machine, shape, &places, &load)
            }
        };
        per_second / 1e6
    });
    let mut values = values.into_iter();
    let mut series = Vec::new();
    for &shape in shapes {
        let (mut locked, mut served) = (Vec::new(), Vec::new());
        for &threads in &steps {
            let locks = contenders.iter().map(|contender| contender.name).zip(&mut values);
            let (lock, best) = locks.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(("none", 0.0));
            locked.push(Point { note: lock.to_owned(), ..Point::at(threads, best) });
            served.push(Point::at(threads, values.next().unwrap_or(0.0)));
        }
        series.push(Series { name: name(shape), points: locked });
        series.push(Series { name: format!("{}{SERVED}", name(shape)), points: served });
    }
    Panel { machine: world.name().to_owned(), series }
}

fn says(panels: &[Panel]) -> String {
    let machine = |panel: &Panel| {
        let (all, few) = (panel.last(), name(SHAPES[2]));
        let (locked, served) = (panel.series(&few)?.points.last()?, format!("{few}{SERVED}"));
        let served = panel.value(&served, all)?;
        Some(format!(
            "with 12 buckets of 12 keys and {all} threads {} does {} million operations a second \
             with the best lock ({}), and {} with servers",
            panel.machine,
            number(locked.y),
            locked.note,
            number(served)
        ))
    };
    list(panels.iter().filter_map(machine))
}
