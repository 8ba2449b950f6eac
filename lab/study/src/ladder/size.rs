//! How long a rung runs, and what one of its turns takes.

use crate::world::World;

/// How long the rungs run.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Turns of each thread that count; a tenth of it comes before and does not count.
    pub rounds: u32,
    /// Seconds that count, where a rung runs for a time.
    pub seconds: f64,
    /// Seconds for which a thread stays away from a lock.
    pub pause: f64,
    /// Decides what is chance.
    pub seed: u64,
}

/// Nanoseconds of one of this many, which took these cycles together.
pub fn each<W: World>(world: &W, cycles: u64, count: u32) -> f64 {
    cycles as f64 / f64::from(count.max(1)) * 1e9 / world.hertz()
}
