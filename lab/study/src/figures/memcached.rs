//! Figure 12: memcached with other locks, in a model whose numbers were measured on the real
//! program.

use super::plan::Plan;
use super::sentence::{list, number};
use super::ssync::load;
use crate::figure::{Kind, Panel, Point, Series};
use crate::lab::Lab;
use crate::on;
use crate::stress::contenders::Contender;
use crate::stress::memcached::{RECORDED, Request};
use crate::stress::{Homes, Load};
use crate::world::World;

/// The plan of figure 12.
pub const PLAN: Plan = Plan {
    id: "figure-12",
    title: "Throughput of memcached's locks, as they were recorded here",
    x: "threads",
    y: "throughput (Kops/s)",
    kind: Kind::Lines,
    measure: |lab, target| Some(on!(target, world => measure(lab, world))),
    says,
};

/// The locks of the paper's figure. Its mutex is the C library's, called as in SSYNC's own library,
/// which replaced memcached's way of waiting (`while` around `pthread_mutex_trylock`). An
/// additional series, "own", has memcached's way.
pub const LOCKS: [&str; 4] = ["mutex", "tas", "ticket", "mcs"];
/// The kinds of requests.
pub const LOADS: [&str; 2] = ["set", "get"];
/// The most threads. The paper has no more, since none of its machines scales further.
const THREADS: usize = 18;
/// Simulated seconds of measurement for each point, in which each thread handles hundreds of
/// requests.
const WINDOW: f64 = 3e-3;

/// The name of the series for a kind of request and a lock.
pub fn name(load: &str, lock: &str) -> String {
    format!("{load}, {lock}")
}

fn request(load: &str) -> &'static Request {
    if load == LOADS[0] { &RECORDED.set } else { &RECORDED.get }
}

fn measure<W: World>(lab: &Lab, world: &W) -> Panel {
    let mut contenders = vec![Contender::<W>::mutex(), Contender::own()];
    contenders.extend(Contender::named(&LOCKS));
    let most = THREADS.min(world.threads());
    let steps = world.steps().into_iter().filter(|&step| step < most).chain([most]);
    let steps: Vec<usize> = steps.collect();
    let lines: Vec<_> =
        LOADS.iter().flat_map(|&load| contenders.iter().map(move |c| (load, c))).collect();
    let points: Vec<_> =
        lines.iter().flat_map(|line| steps.iter().map(move |&step| (line, step))).collect();
    let values = lab.measure::<W, _>(&points, |&(&(requests, contender), threads), seed| {
        let (warm_up, measured) = lab.window::<W>(WINDOW);
        // This calls `load` and not `lock_load`: whichever lock is used, lines of data are not
        // fetched for writing before they are read.
        let load = load::<W>(lab, threads, 2, seed);
        let load = Load { homes: Homes::Machine, warm_up, measured, ..load };
        (contender.memcached)(world, request(requests), &load).per_second / 1e3
    });
    let mut values = values.into_iter();
    let series = lines.iter().map(|&(requests, contender)| Series {
        name: name(requests, contender.name),
        points: steps.iter().zip(&mut values).map(|(&step, y)| Point::at(step, y)).collect(),
    });
    Panel { machine: world.name().to_owned(), series: series.collect() }
}

/// The relative gain of the best other lock over the mutex, and that lock's name. Each lock counts
/// with its best number of threads. `None` if the mutex or all others were not measured.
pub fn gain(panel: &Panel, load: &str) -> Option<(f64, &'static str)> {
    let most = |lock: &str| {
        let points = &panel.series(&name(load, lock))?.points;
        points.iter().map(|point| point.y).max_by(f64::total_cmp)
    };
    let [own, others @ ..] = LOCKS;
    let others = others.into_iter().filter_map(|lock| Some((most(lock)? / most(own)? - 1.0, lock)));
    others.max_by(|a, b| a.0.total_cmp(&b.0))
}

fn says(panels: &[Panel]) -> String {
    let machine = |panel: &Panel| {
        let [set, get] = LOADS.map(|load| gain(panel, load));
        let ((set, lock), (get, _)) = (set?, get?);
        Some(format!(
            "on {} memcached's sets are {} % faster with the best other lock ({lock}) than with a \
             mutex, its gets {} %",
            panel.machine,
            number(100.0 * set),
            number(100.0 * get)
        ))
    };
    list(panels.iter().filter_map(machine))
}
