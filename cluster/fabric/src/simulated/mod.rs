//! Ranks as coroutines of one thread, on a network that is simulated. One seed gives one run, bit
//! for bit.
//!
//! ```text
//!   network     how long what takes
//!   operation   what is on its way, and what it does to a part when it takes effect
//!   engine      events in the order of simulated time; ports, delays, deaths
//!   context     which simulation the running code is in
//! ```
//!
//! An operation leaves by its rank's port, travels for a time that chance adds to, and is served at
//! its target's port, each port one at a time. Nothing keeps two operations in order but that a rank
//! waits for the first: puts overtake each other and all else, between different pairs of ranks and
//! within one, as one-sided MPI allows. What is longer than a word takes effect in pieces, with time
//! between. What a rank does beside its operations takes no time.
//!
//! A rank dies in the middle of one of its operations: it runs no further, not even its destructors;
//! its part is gone; of what it had on the way some takes effect, some never will. The others learn
//! of it when all that is decided.
//!
//! ```
//! use syncline_fabric::{Fabric, Place, simulated::Simulation};
//!
//! let outcome = Simulation::new(64, 4096, 1).run(|fabric| {
//!     fabric.add(Place { rank: 0, at: 0 }, 1).unwrap()
//! });
//! let mut turns: Vec<u64> = outcome.results.into_iter().flatten().collect();
//! turns.sort();
//! assert!(turns.into_iter().eq(0..64));
//! ```

mod context;
mod engine;
mod network;
mod operation;

use std::marker::PhantomData;
use std::time::Duration;

use engine::Engine;
pub use engine::Outcome;
pub use network::Network;
use operation::{Kind, Operation};

use crate::{Change, Dead, Fabric, Heap, Here, Place};

/// A simulation to be run.
#[derive(Clone, Debug)]
pub struct Simulation {
    ranks: usize,
    bytes: usize,
    seed: u64,
    network: Network,
    limit: Duration,
    deaths: Vec<(usize, u64)>,
}

impl Simulation {
    /// This many ranks with parts of this many bytes, on the network that [`Network::default`] is.
    /// The seed decides all that is chance.
    ///
    /// # Panics
    ///
    /// If there are no ranks.
    pub fn new(ranks: usize, bytes: usize, seed: u64) -> Simulation {
        assert!(ranks > 0, "a fabric has at least one rank");
        let bytes = bytes.next_multiple_of(8);
        let limit = Duration::from_secs(10);
        Simulation { ranks, bytes, seed, network: Network::default(), limit, deaths: Vec::new() }
    }

    /// On another network.
    #[must_use]
    pub fn on(mut self, network: Network) -> Simulation {
        self.network = network;
        self
    }

    /// How much simulated time the ranks may take; 10 seconds unless this is called.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Simulation {
        self.limit = limit;
        self
    }

    /// A rank dies when it has begun this many operations, if it ever does.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    #[must_use]
    pub fn dies(mut self, rank: usize, operations: u64) -> Simulation {
        assert!(rank < self.ranks, "there is no rank {rank}");
        self.deaths.push((rank, operations));
        self
    }

    /// Runs a function as each rank until all have returned or died.
    ///
    /// # Panics
    ///
    /// If a rank panics, if simulated time passes the limit, which means that ranks wait for what
    /// never comes, or in a simulation.
    pub fn run<R>(&self, body: impl Fn(Simulated) -> R) -> Outcome<R> {
        Engine::new(self).run(&body)
    }
}

/// A rank in a simulation.
#[derive(Clone, Debug)]
pub struct Simulated {
    rank: usize,
    /// It stays in the thread of its simulation.
    local: PhantomData<*const ()>,
}

impl Simulated {
    fn new(rank: usize) -> Simulated {
        Simulated { rank, local: PhantomData }
    }

    /// Has words and locks of [`Window`](crate::Window) that this rank uses take nodes from this heap.
    pub fn enter(&self, nodes: Heap) {
        context::with(|engine| engine.ranks[self.rank].nodes = Some(nodes));
    }

    fn wait_for(&self, kind: Kind, at: Place, length: usize) -> Result<(u64, Vec<u8>), Dead> {
        context::wait(|engine| {
            let operation = Operation::new(self.rank, at, kind, vec![0; length]);
            engine.issue(operation)
        });
        context::with(|engine| engine.ranks[self.rank].take_result())
    }

    fn check(&self, at: Place, length: usize) {
        let (ranks, bytes) = (self.ranks(), self.bytes());
        let fits = at.at <= bytes && length <= bytes - at.at;
        assert!(at.rank < ranks && fits, "{length} bytes at {at:?} are in no rank's part");
    }

    fn check_word(&self, at: Place) {
        assert!(at.at.is_multiple_of(8), "{at:?} is no word's");
        self.check(at, 8);
    }
}

impl Fabric for Simulated {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        context::with(|engine| engine.ranks.len())
    }

    fn bytes(&self) -> usize {
        context::with(|engine| engine.bytes)
    }

    fn put(&self, to: Place, bytes: &[u8]) {
        self.check(to, bytes.len());
        context::wait(|engine| {
            engine.issue(Operation::new(self.rank, to, Kind::Put, bytes.to_vec()))
        });
    }

    fn get(&self, from: Place, into: &mut [u8]) -> Result<(), Dead> {
        self.check(from, into.len());
        let (_, data) = self.wait_for(Kind::Get, from, into.len())?;
        into.copy_from_slice(&data);
        Ok(())
    }

    fn compare_and_swap(&self, at: Place, old: u64, new: u64) -> Result<u64, Dead> {
        self.check_word(at);
        self.wait_for(Kind::Swap { old, new }, at, 0).map(|(was, _)| was)
    }

    fn fetch_and(&self, at: Place, change: Change, operand: u64) -> Result<u64, Dead> {
        self.check_word(at);
        self.wait_for(Kind::Fetch { change, operand }, at, 0).map(|(was, _)| was)
    }

    fn flush(&self, rank: usize) -> Result<(), Dead> {
        self.check(Place { rank, at: 0 }, 0);
        context::wait(|engine| engine.wait_for_puts(self.rank, Some(rank)));
        context::with(|engine| engine.ranks[self.rank].flushed(rank))
    }

    fn flush_all(&self) {
        context::wait(|engine| engine.wait_for_puts(self.rank, None));
    }

    fn pause(&self, at: Place, looks: u32) {
        context::wait(|engine| engine.pause(self.rank, at.rank, looks));
    }

    fn rest(&self, time: Duration) {
        context::wait(|engine| engine.rest(self.rank, time.as_nanos() as u64));
    }

    fn is_alive(&self, rank: usize) -> bool {
        context::with(|engine| !engine.ranks[rank].known_dead)
    }

    fn machine(&self, rank: usize) -> usize {
        context::with(|engine| engine.network.machine(rank))
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(context::with(|engine| engine.now))
    }
}

impl Here for Simulated {
    fn here<R>(then: impl FnOnce(&Simulated) -> R) -> R {
        then(&Simulated::new(context::with(|engine| engine.current)))
    }

    fn nodes(&self) -> Heap {
        let nodes = context::with(|engine| engine.ranks[self.rank].nodes);
        nodes.expect("`Simulated::enter` says where nodes come from")
    }
}
