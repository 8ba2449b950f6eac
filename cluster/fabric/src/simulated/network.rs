//! How long what takes on a simulated network.

/// A network. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub struct Network {
    /// How many ranks are on one machine.
    pub near: usize,
    /// One way between ranks of one machine.
    pub latency_near: u64,
    /// One way between machines.
    pub latency_far: u64,
    /// What an operation on the rank's own part takes.
    pub own: u64,
    /// Chance adds up to this much to each way, and once in 64 times up to sixteen times as much.
    pub delay: u64,
    /// Between the pieces of what is longer than a word.
    pub tear: u64,
    /// Bytes that pass a port in a microsecond.
    pub bandwidth: u64,
}

/// What an operation has beside its data, in bytes.
const HEADER: u64 = 32;

impl Default for Network {
    /// An adapter of 100 Gbit/s with latencies of a microsecond, sixteen ranks to a machine, and
    /// delays as long as the way itself.
    fn default() -> Network {
        Network {
            near: 16,
            latency_near: 300,
            latency_far: 1000,
            own: 50,
            delay: 1000,
            tear: 500,
            bandwidth: 12_500,
        }
    }
}

impl Network {
    /// The machine of a rank.
    pub(super) fn machine(&self, rank: usize) -> usize {
        rank / self.near
    }

    /// How long one way takes.
    pub(super) fn way(&self, from: usize, to: usize, random: &mut fastrand::Rng) -> u64 {
        let is_near = self.machine(from) == self.machine(to);
        let latency = if is_near { self.latency_near } else { self.latency_far };
        let most = if random.u8(..64) == 0 { 16 * self.delay } else { self.delay };
        latency + random.u64(0..=most)
    }

    /// How long this many bytes of data keep a port.
    pub(super) fn transfer(&self, bytes: usize) -> u64 {
        (HEADER + bytes as u64) * 1000 / self.bandwidth
    }
}
