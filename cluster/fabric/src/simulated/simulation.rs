//! The parameters of a simulation: the number of ranks, the size of their parts, the seed, the
//! network, the limit of simulated time, and the ranks that die.

use std::time::Duration;

use super::network::Network;

/// The parameters of a simulation.
#[derive(Clone, Debug)]
pub struct Simulation {
    pub(super) ranks: usize,
    pub(super) bytes: usize,
    pub(super) seed: u64,
    pub(super) network: Network,
    pub(super) limit: Duration,
    pub(super) deaths: Vec<(usize, u64)>,
}

impl Simulation {
    /// A simulation of this many ranks with parts of this many bytes, on the default network
    /// ([`Network::default`]). The seed decides all random choices.
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

    /// Replaces the default network.
    #[must_use]
    pub fn on(mut self, network: Network) -> Simulation {
        self.network = network;
        self
    }

    /// Sets the limit of simulated time. The default is 10 seconds.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Simulation {
        self.limit = limit;
        self
    }

    /// Makes a rank die when it has begun this many operations; 0 counts as 1. If this is called
    /// several times for one rank, the smallest number counts.
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
}
