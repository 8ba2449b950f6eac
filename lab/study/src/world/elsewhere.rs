//! A simulated machine as a [`World`]. Its clock stands still while the test's own code runs.

use syncline_sim::engine::{self, Engine, Fresh};
use syncline_sim::machine::{Access, Protocol, State};
use syncline_sim::{Machine, Simulated};

use super::interface::{Body, Course, Homes, Phase, Placement, Watch, World};
use syncline_sim::engine::ANYWHERE;

/// A node with at least this many cores counts as a socket: `steps` includes the number of threads
/// that fills it.
const SOCKET: usize = 4;

/// A simulated machine as a world.
#[derive(Clone, Copy, Debug)]
pub struct Elsewhere<'m>(pub &'m Machine);

/// The cycles at which the counted part of a run begins and ends.
#[derive(Debug)]
pub struct Interval {
    from: u64,
    to: u64,
}

impl Watch for Interval {
    fn phase(&self) -> Phase {
        match engine::now() {
            now if now < self.from => Phase::WarmUp,
            now if now < self.to => Phase::Measured,
            _ => Phase::Over,
        }
    }
}

impl World for Elsewhere<'_> {
    type Memory = Simulated;
    type Watch = Interval;
    const SIMULATED: bool = true;

    fn name(&self) -> &str {
        &self.0.description.name
    }

    fn threads(&self) -> usize {
        self.0.threads()
    }

    fn hertz(&self) -> f64 {
        self.0.description.hertz
    }

    fn places(&self, threads: usize, order: Placement) -> Vec<usize> {
        let per_cache = self.0.description.threads_per_cache;
        let per_node = per_cache * self.0.description.caches_per_node;
        let mut all: Vec<usize> = (0..self.threads()).collect();
        match order {
            Placement::Near => all.sort_by_key(|place| place % per_cache),
            Placement::Far => all.sort_by_key(|place| (place % per_cache, place % per_node)),
            Placement::Anywhere => return vec![ANYWHERE; threads],
        }
        all.into_iter().cycle().take(threads).collect()
    }

    fn steps(&self) -> Vec<usize> {
        let node = self.0.description.caches_per_node;
        let mut steps = vec![1, 2, 4];
        if node >= SOCKET {
            steps.extend([node.div_ceil(2), node, node + 1, 2 * node, 3 * node, 4 * node]);
            steps.extend((6..).step_by(2).map(|nodes| nodes * node).take_while(|&n| n <= 96));
        } else {
            steps.extend([8, 16, 24, 32]);
        }
        steps.extend([36, self.threads()]);
        steps.retain(|&step| step <= self.threads());
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    fn has_sockets(&self) -> bool {
        self.0.description.nodes > 1 && self.0.description.caches_per_node >= SOCKET
    }

    fn broadcasts(&self) -> bool {
        self.0.description.protocol == Protocol::Directory
    }

    fn partners(&self) -> Vec<(String, usize)> {
        let d = &self.0.description;
        let mut partners = Vec::new();
        for (name, &at) in d.columns.iter().zip(&d.columns_at) {
            let node = d.distances[0].iter().position(|&distance| distance == at);
            // If the node is node 0 itself, the partner is hardware thread 1: a thread of the same
            // core if cores have several threads, else the next core.
            let place = node.map(|node| node * d.caches_per_node * d.threads_per_cache);
            match place {
                Some(0) if self.0.threads() > 1 && d.caches_per_node * d.threads_per_cache > 1 => {
                    partners.push((name.clone(), 1));
                }
                Some(place) if place > 0 => partners.push((name.clone(), place)),
                _ => {}
            }
        }
        partners
    }

    /// For a single thread, returns the cycles of an atomic operation on a line that is in its
    /// core's cache.
    fn transfer(&self, places: &[usize]) -> u64 {
        if let ([_], Some(local)) = (places, self.0.local(Access::Swap)) {
            return u64::from(local);
        }
        let node = |&place: &usize| self.0.node_of(self.0.cache_of(place));
        let farthest = if places.contains(&ANYWHERE) {
            self.0.farthest()
        } else {
            let classes = places
                .iter()
                .flat_map(|a| places.iter().map(move |b| self.0.class(node(a), node(b))));
            classes.max().unwrap_or(0)
        };
        u64::from(self.0.cycles(Access::Swap, State::Modified, farthest))
    }

    fn run(&self, course: &Course, threads: Vec<(usize, Body<'_, Self>)>) -> f64 {
        let cycles = |seconds| self.0.in_cycles(seconds);
        let (from, measured) = (cycles(course.warm_up), cycles(course.measured));
        let interval = Interval { from, to: from + measured };
        let engine = Engine::new(self.0, course.seed).warm();
        let mut engine = engine.fetching_for_writing(course.fetch_for_writing);
        engine.place(match course.homes {
            Homes::Machine => Fresh::Machine,
            Homes::First => Fresh::At(0),
            Homes::Spread => Fresh::InTurn,
        });
        for (lines, node) in &course.shared {
            engine.home(lines.clone(), node % self.0.description.nodes);
        }
        let interval = &interval;
        let bodies = threads
            .into_iter()
            .map(|(place, body)| (place, Box::new(move || body(interval)) as engine::Body<'_>));
        engine.run(bodies.collect());
        measured as f64 / self.hertz()
    }

    fn now() -> u64 {
        engine::now()
    }

    fn clock_cost(&self) -> u64 {
        0
    }

    fn delay(cycles: u64) {
        engine::delay(cycles);
    }

    fn execute(instructions: u64) {
        engine::execute(instructions);
    }

    fn fence() {
        engine::fence();
    }
}
