//! Figure 8: the best lock's throughput with 4 to 128 locks, and which lock that is.

use super::plan::Plan;
use super::sentence::{list, number};
use super::ssync::{contenders, lock_load};
use crate::figure::{Kind, Panel, Point, Series};
use crate::lab::Lab;
use crate::on;
use crate::world::World;

/// The plan of figure 8.
pub const PLAN: Plan = Plan {
    id: "figure-8",
    title: "Throughput of the best lock, by the number of locks",
    x: "threads",
    y: "throughput (Mops/s)",
    kind: Kind::Lines,
    measure: |lab, target| Some(on!(target, world => measure(lab, world))),
    says,
};

/// The numbers of locks, from that with the highest contention to that with the lowest.
pub const LOCKS: [usize; 4] = [4, 16, 32, 128];
/// The largest number of threads with which SSYNC compares machines.
pub const THREADS: usize = 36;

/// The name of the series for this number of locks.
pub fn name(locks: usize) -> String {
    format!("{locks} locks")
}

fn measure<W: World>(lab: &Lab, world: &W) -> Panel {
    let contenders = contenders(world);
    let steps: Vec<usize> = world.steps().into_iter().filter(|&step| step <= THREADS).collect();
    let mut points = Vec::new();
    for count in LOCKS {
        for &threads in &steps {
            points.extend(contenders.iter().map(|contender| (count, threads, contender)));
        }
    }
    let values = lab.measure::<W, _>(&points, |&(count, threads, contender), seed| {
        let load = lock_load(lab, world, contender.name, (threads, count), seed);
        (contender.throughput)(world, &load).per_second / 1e6
    });
    let mut measured = points.iter().map(|point| point.2.name).zip(values);
    let series = LOCKS.into_iter().map(|count| {
        let mut alone = None;
        let points = steps.iter().map(|&threads| {
            let locks = measured.by_ref().take(contenders.len());
            let (lock, best) = locks.max_by(|a, b| a.1.total_cmp(&b.1)).expect("there are locks");
            let times = best / *alone.get_or_insert(best);
            Point { note: format!("{}x: {lock}", number(times)), ..Point::at(threads, best) }
        });
        Series { name: name(count), points: points.collect() }
    });
    Panel { machine: world.name().to_owned(), series: series.collect() }
}

fn says(panels: &[Panel]) -> String {
    let machine = |panel: &Panel| {
        let last = |locks| Some(panel.series(&name(locks))?.points.last()?.clone());
        let (few, many) = (last(LOCKS[0])?, last(LOCKS[3])?);
        let (few_times, few_best) = few.note.split_once(": ")?;
        let (many_times, many_best) = many.note.split_once(": ")?;
        Some(format!(
            "{} threads on {} have {few_times} the throughput of one thread with {} locks (the \
             best lock: {few_best}), and {many_times} with {} locks ({many_best})",
            few.x, panel.machine, LOCKS[0], LOCKS[3]
        ))
    };
    list(panels.iter().filter_map(machine))
}
