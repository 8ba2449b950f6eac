//! How long a rung runs, and how long its parts take.

use crate::world::World;

/// How long the rungs run.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Turns of each thread that count. If threads take turns, a tenth as many come before and do
    /// not count.
    pub rounds: u32,
    /// Seconds that count, if a rung runs for a time.
    pub seconds: f64,
    /// Seconds for which a thread pauses between uses of a lock.
    pub pause: f64,
    /// Seed of all random choices.
    pub seed: u64,
}

/// Nanoseconds per item, if `count` items took `cycles` together.
pub fn each<W: World>(world: &W, cycles: u64, count: u32) -> f64 {
    cycles as f64 / f64::from(count.max(1)) * 1e9 / world.hertz()
}
