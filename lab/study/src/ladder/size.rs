//! The length of a rung's run, and the time of one of its turns or operations.

use crate::world::World;

/// The length of the rungs' runs.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The number of turns of each thread that count. If threads take turns, a tenth as many turns
    /// run first, which do not count.
    pub rounds: u32,
    /// The seconds that count in a rung that runs for a given time.
    pub seconds: f64,
    /// The seconds for which a thread pauses between uses of a lock.
    pub pause: f64,
    /// The seed of all random choices.
    pub seed: u64,
}

/// Nanoseconds per item, if `count` items together took `cycles`.
pub fn each<W: World>(world: &W, cycles: u64, count: u32) -> f64 {
    cycles as f64 / f64::from(count.max(1)) * 1e9 / world.hertz()
}
