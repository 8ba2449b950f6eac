//! What is simulated: how many ranks, on which network, and which of them die.

use std::time::Duration;

use super::network::Network;

/// A simulation to be run.
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
}
