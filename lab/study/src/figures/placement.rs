//! Figure 5 of the paper on MPI's passive target: the scaling of an application on the SCC, with
//! its synchronization data at one memory controller or spread over all controllers.

use syncline::memory::Padded;
use syncline_sim::Machine;
use syncline_sim::engine::{Body, Engine, delay};
use syncline_sim::uncached::Plain;

use super::plan::Plan;
use super::sentence::number;
use crate::figure::{Kind, Panel, Point, Series};
use crate::lab::Lab;
use crate::target::Target;

/// The plan of the SCC's figure 5.
pub const PLAN: Plan = Plan {
    id: "scc-figure-5",
    title: "Speedup of a stencil, by where its synchronization data is",
    x: "cores",
    y: "speedup",
    kind: Kind::Lines,
    measure,
    says,
};

/// The name of the series in which each core's words are at the memory controller next to it.
pub const SPREAD: &str = "next to each core";
/// The name of the series in which all words are at one controller.
pub const CENTRAL: &str = "at one controller";

const CORES: [usize; 7] = [1, 4, 8, 12, 24, 36, 48];
/// The number of steps of the stencil, which are divided among the cores.
const STEPS: usize = 960;
/// The number of sweeps over all steps.
const SWEEPS: u32 = 5;
/// Cycles of a step's computation, which uses only the core's private memory.
const WORK: u64 = 60;

fn measure(lab: &Lab, target: &Target) -> Option<Panel> {
    let Target::Simulated(machine) = target else { return None };
    if !machine.is_uncached() {
        return None;
    }
    let cores: Vec<usize> = CORES.into_iter().filter(|&n| n <= machine.threads()).collect();
    let alone = sweeps(machine, 1, true, lab.seed) as f64;
    let series = [(SPREAD, true), (CENTRAL, false)].map(|(name, spread)| {
        let point = |&n: &usize| Point::at(n, alone / sweeps(machine, n, spread, lab.seed) as f64);
        Series { name: name.to_owned(), points: cores.iter().map(point).collect() }
    });
    Some(Panel { machine: machine.description.name.clone(), series: series.into() })
}

/// Cycles that `cores` cores need for all sweeps. Before each step, a core reads a word of its own;
/// after the step, it writes its progress to this word. At the end of a sweep, it waits for its
/// neighbours (two at most).
fn sweeps(machine: &Machine, cores: usize, spread: bool, seed: u64) -> u64 {
    let words: Vec<Padded<Plain>> = (0..cores).map(|_| Padded::default()).collect();
    let mut engine = Engine::new(machine, seed);
    for (core, word) in words.iter().enumerate() {
        let at = std::ptr::from_ref(word).addr();
        let node = machine.node_of(machine.cache_of(core));
        engine.home(at..at + 1, if spread { node } else { 0 });
    }
    let threads = (0..cores).map(|core| {
        let words = &words;
        let share = (STEPS / cores + usize::from(core < STEPS % cores)) as u32;
        let body: Body<'_> = Box::new(move || {
            for sweep in 1..=SWEEPS {
                for step in 1..=share {
                    words[core].load();
                    delay(WORK);
                    words[core].store(if step == share { sweep } else { sweep - 1 });
                }
                let before = core.checked_sub(1);
                let after = Some(core + 1).filter(|&after| after < cores);
                for neighbour in [before, after].into_iter().flatten() {
                    while words[neighbour].load() < sweep {}
                }
            }
        });
        (core, body)
    });
    engine.run(threads.collect()).cycles
}

fn says(panels: &[Panel]) -> String {
    let Some(panel) = panels.first() else {
        return "not measured: this figure needs a machine without coherent caches".into();
    };
    let all = panel.last();
    let [spread, central] =
        [SPREAD, CENTRAL].map(|name| number(panel.value(name, all).unwrap_or_default()));
    format!(
        "on {all} cores of {} a stencil is {spread} times as fast as on one core if its \
         synchronization data is next to each core, and {central} times as fast if all of it is at \
         one memory controller",
        panel.machine
    )
}
