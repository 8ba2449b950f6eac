//! What a fix would bring: the recorded run is played back as it would have gone with it.
//!
//! 1. [`tracks`] makes of the recorded waits what each thread had to do: this much work, then a
//!    wait that ends once a certain other thread has come so far, then more work.
//! 2. [`change`] takes away, moves or shortens what the remedy does.
//! 3. [`replay`] lets the threads run again, on as many processors, and says when the last
//!    one is done.
//!
//! Recording makes a run slower, most of all in short sections that are waited for: what is counted there
//! is counted while the lock is held, and the next one waits for that. How long it took is in the
//! recording, so the run that is played back is first made what it would have been without
//! ([`unrecorded`]).
//!
//! The gain is the run time of the changed tracks against that of the unchanged ones. So a
//! wait that others did not depend on brings nothing; a thread that no longer waits for a
//! lock comes earlier to the barrier behind it; and where all processors are busy, less
//! waiting brings nothing at all.
//!
//! What it does not know: which data the threads would touch, and so how caches would do;
//! and threads that no longer wait for one lock may meet at another. `docs/accuracy.md`
//! holds predictions against measurements.

mod assignment;
mod change;
mod kept;
mod replay;
#[cfg(test)]
mod tests;
mod tracks;
mod unrecorded;

use crate::model::{Gain, Method, Process, Remedy};
use change::changed;
use replay::replay;
use tracks::{Track, tracks};
use unrecorded::unrecorded;

/// A process, made ready for predictions.
pub struct Predictor<'a> {
    process: &'a Process,
    processors: f64,
    tracks: Vec<Track>,
    /// Seconds that the unchanged tracks take.
    before: f64,
}

impl Predictor<'_> {
    /// Makes a process ready.
    pub fn new(process: &Process) -> Predictor<'_> {
        let processors = process.processors.map_or(f64::INFINITY, |n| n.max(1) as f64);
        let tracks = unrecorded(tracks(process, processors), process);
        let before = replay(&tracks, processors);
        Predictor { process, processors, tracks, before }
    }

    /// What a remedy would bring; `None` if unknown.
    pub fn gain(&self, remedy: &Remedy) -> Option<Gain> {
        let (share, method) = match remedy {
            Remedy::Unknown => return None,
            Remedy::Rebalance { groups } => {
                let seconds = assignment::seconds(groups, self.process.ran() / self.processors);
                (seconds / self.process.seconds.max(f64::MIN_POSITIVE), Method::Assignment)
            }
            _ if self.before <= 0.0 => return None,
            _ => {
                let after = replay(&changed(&self.tracks, self.process, remedy), self.processors);
                (1.0 - after / self.before, Method::Replay)
            }
        };
        let share = share.clamp(0.0, 1.0);
        Some(Gain { share, seconds: share * self.process.seconds, method })
    }
}
