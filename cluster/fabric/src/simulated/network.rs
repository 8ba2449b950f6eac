//! The delays of a simulated network.

/// The delays of a network. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub struct Network {
    /// The number of ranks on one machine.
    pub near: usize,
    /// Latency of one way between ranks of one machine.
    pub latency_near: u64,
    /// Latency of one way between machines.
    pub latency_far: u64,
    /// Duration of an operation on the rank's own part.
    pub own: u64,
    /// The most random delay that is added to each way; once in 64 times the delay is up to sixteen
    /// times as much.
    pub delay: u64,
    /// The most random delay of each piece of data that is longer than a word.
    pub tear: u64,
    /// Bytes that pass a port per microsecond.
    pub bandwidth: u64,
}

/// Size of an operation without its data, in bytes.
const HEADER: u64 = 32;

impl Default for Network {
    /// An adapter of 100 Gbit/s with latencies of a microsecond, sixteen ranks per machine, and
    /// random delays as long as the way itself.
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
    /// The number of a rank's machine.
    pub(super) fn machine(&self, rank: usize) -> usize {
        rank / self.near
    }

    /// The duration of one way.
    pub(super) fn way(&self, from: usize, to: usize, random: &mut fastrand::Rng) -> u64 {
        let is_near = self.machine(from) == self.machine(to);
        let latency = if is_near { self.latency_near } else { self.latency_far };
        let most = if random.u8(..64) == 0 { 16 * self.delay } else { self.delay };
        latency + random.u64(0..=most)
    }

    /// How long this many bytes of data occupy a port.
    pub(super) fn transfer(&self, bytes: usize) -> u64 {
        (HEADER + bytes as u64) * 1000 / self.bandwidth
    }
}
