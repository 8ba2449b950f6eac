//! A simulated machine as a bench. Its clock counts cycles, and its description says what each
//! access costs.

use syncline::memory::{Padded, Word};
use syncline_sim::engine::{self, Body, Engine};
use syncline_sim::{Machine, Simulated};

use super::interface::{Bench, Lines, Timed};
use crate::error::Error;
use crate::surroundings::Surroundings;
use crate::topology::{Topology, simulated};

impl Timed for Simulated {
    type Region = Box<[Padded<Self::Word>]>;

    fn ticks() -> u64 {
        engine::depends();
        engine::now()
    }

    fn settle() {
        engine::fence();
    }

    fn depends() {
        engine::depends();
    }

    fn evict(word: &Self::Word) {
        engine::flush(word.address().0);
    }

    fn work(cycles: u32) {
        engine::delay(u64::from(cycles));
    }
}

/// A simulated machine as a bench.
pub struct SimulatedBench<'m> {
    machine: &'m Machine,
    topology: Topology,
    surroundings: Surroundings,
    seed: u64,
}

impl<'m> SimulatedBench<'m> {
    /// A simulation of this machine. The seed decides all random choices.
    pub fn new(machine: &'m Machine, seed: u64) -> Self {
        let surroundings = Surroundings::simulated(machine);
        SimulatedBench { machine, topology: simulated::topology(machine), surroundings, seed }
    }
}

impl Bench for SimulatedBench<'_> {
    type Memory = Simulated;

    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    fn title(&self) -> String {
        self.machine.description.title.clone()
    }

    fn ticks_per_second(&self) -> f64 {
        self.machine.description.hertz
    }

    fn lines(&self, count: usize, home: usize) -> Result<Lines<Simulated>, Error> {
        let region = std::iter::repeat_with(Padded::default).take(count).collect();
        Ok(Lines { region, home })
    }

    fn run(
        &self,
        lines: &Lines<Simulated>,
        places: &[usize],
        body: &(dyn Fn(usize) + Sync),
    ) -> Result<(), Error> {
        // Only accesses take time, and instructions take none. So a chain without its accesses
        // takes no time, and nothing has to be subtracted.
        let mut engine = Engine::new(self.machine, self.seed).accesses_only();
        let home = self.machine.node_of(self.machine.cache_of(lines.home));
        engine.home(lines.addresses(), home);
        let threads = places.iter().enumerate().map(|(role, &place)| {
            let body: Body<'_> = Box::new(move || body(role));
            (place, body)
        });
        engine.run(threads.collect());
        Ok(())
    }
}
