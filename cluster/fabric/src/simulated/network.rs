//! The delays of a simulated network.

/// The delays of a network. All times are in nanoseconds.
#[derive(Clone, Debug)]
pub struct Network {
    /// The number of ranks on one machine.
    pub near: usize,
    /// The time that an operation or answer travels between ranks of one machine.
    pub latency_near: u64,
    /// The time that an operation or answer travels between machines.
    pub latency_far: u64,
    /// The time that an operation on the rank's own part takes.
    pub own: u64,
    /// The longest random delay that is added to each way. For one way in 64, drawn at random, the
    /// limit is sixteen times as long.
    pub delay: u64,
    /// The longest random delay of each piece, if an operation's data takes effect in several
    /// pieces.
    pub tear: u64,
    /// Bytes that pass a port per microsecond.
    pub bandwidth: u64,
}

/// The size of an operation without its data, in bytes.
const HEADER: u64 = 32;

impl Default for Network {
    /// An adapter of 100 Gbit/s with a latency of a microsecond between machines, sixteen ranks per
    /// machine, and random delays that are usually at most a microsecond.
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
    /// The number of the machine that a rank is on.
    pub(super) fn machine(&self, rank: usize) -> usize {
        rank / self.near
    }

    /// The time of one way from one rank to another, with its random delay.
    pub(super) fn way(&self, from: usize, to: usize, random: &mut fastrand::Rng) -> u64 {
        let is_near = self.machine(from) == self.machine(to);
        let latency = if is_near { self.latency_near } else { self.latency_far };
        let most = if random.u8(..64) == 0 { 16 * self.delay } else { self.delay };
        latency + random.u64(0..=most)
    }

    /// How long an operation with this many bytes of data occupies a port.
    pub(super) fn transfer(&self, bytes: usize) -> u64 {
        (HEADER + bytes as u64) * 1000 / self.bandwidth
    }
}
