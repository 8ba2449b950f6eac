//! The gain of a fix: the recorded run is replayed as it would have gone with the fix.
//!
//! 1. [`tracks`] turns the recorded waits into a track for each thread: some work, then a wait that
//!    ends when another thread has reached a certain point of its work, then more work.
//! 2. [`change`] removes, moves or shortens the waits and the work that the remedy affects.
//! 3. [`replay`] lets the threads run again, on as many processors as in the recorded run, and
//!    finds when the last one is done.
//!
//! Recording slows a run down, most of all in short contended sections: the recorder counts while
//! the lock is held, and the next thread waits longer for it. The recording has the time that the
//! recorder took in such sections; this time is removed from the run first ([`unrecorded`]).
//!
//! The gain is the difference between the run times of the unchanged and the changed tracks. So
//! removing a wait that no thread depended on gains nothing; a thread that no longer waits for a
//! lock arrives earlier at the next barrier; and if all processors are busy, less waiting gains
//! nothing at all.
//!
//! The prediction does not know which data the threads would touch, so it ignores caches. And
//! threads that no longer wait for one lock may contend for another one more than the replay shows.
//! `docs/accuracy.md` compares predictions with measurements.

mod assignment;
mod change;

mod kept;
mod replay;
mod shorter;
#[cfg(test)]
mod tests;
mod tracks;
mod unrecorded;

use crate::held::on_processor;
use crate::model::{Gain, Method, Process, Remedy};
use change::changed;
pub use change::{WAKE_UP, WAKING};
use replay::replay;
use tracks::{Track, tracks};
use unrecorded::unrecorded;

/// If sleeping and waking take at least this share of the run, fewer hand-overs save more than the
/// replay shows. Making, passing on and taking each piece costs time as well, and it is not known
/// how much.
const MUCH_HANDED_OVER: f64 = 0.1;
/// If the replay is known to show too little, a replayed gain below this is not reported.
const LITTLE: f64 = 0.05;
/// If threads wait for at least this share of their time for holders that mostly sleep, a gain
/// below [`LITTLE`] is not reported either.
const MUCH_WAITED: f64 = 0.2;
/// Holders mostly sleep if they have no processor for more than this share of the time held.
const MOSTLY: f64 = 0.5;

/// For a run that is shorter than this, in seconds, no gain is predicted by replay: it is mostly
/// start-up and shutdown.
pub const SHORTEST: f64 = 0.05;

/// Predicts gains for a process.
pub struct Predictor<'a> {
    process: &'a Process,
    processors: f64,
    tracks: Vec<Track>,
    /// Seconds that the unchanged tracks take.
    before: f64,
}

impl Predictor<'_> {
    /// Prepares the tracks of a process, and replays them unchanged.
    pub fn new(process: &Process) -> Predictor<'_> {
        let processors = process.processors.map_or(f64::INFINITY, |n| n.max(1) as f64);
        let tracks = unrecorded(tracks(process, processors), process);
        let before = replay(&tracks, processors);
        Predictor { process, processors, tracks, before }
    }

    /// The gain of a remedy; `None` if unknown.
    pub fn gain(&self, remedy: &Remedy) -> Option<Gain> {
        let (share, method) = match remedy {
            Remedy::Unknown => return None,
            Remedy::Rebalance { groups } => {
                let seconds = assignment::seconds(groups, self.process.ran() / self.processors);
                (seconds / self.process.seconds.max(f64::MIN_POSITIVE), Method::Assignment)
            }
            Remedy::AtOnce { seconds, pieces } => {
                let saved = seconds * (1.0 - 1.0 / (*pieces).max(1) as f64);
                (saved / self.process.seconds.max(f64::MIN_POSITIVE), Method::Assignment)
            }
            Remedy::FreeProcessors { seconds } => {
                let used = self.process.times.running + self.process.times.spinning;
                (seconds / used.max(f64::MIN_POSITIVE), Method::Processors)
            }
            _ if self.before <= 0.0 || self.process.seconds < SHORTEST => return None,
            _ => {
                let after = replay(&changed(&self.tracks, self.process, remedy), self.processors);
                (1.0 - after / self.before, Method::Replay)
            }
        };
        let share = share.clamp(0.0, 1.0);
        if share < LITTLE && (self.hands_over_much(remedy) || self.waits_for_sleepers(remedy)) {
            return None;
        }
        Some(Gain { share, seconds: share * self.process.seconds, method })
    }

    /// Whether hand-overs take much of the run, and the remedy reduces their number.
    fn hands_over_much(&self, remedy: &Remedy) -> bool {
        let Remedy::FewerHandOvers { sites, .. } = remedy else { return false };
        let waits: u64 = sites.iter().map(|&site| self.process.sites[site].figures.waits).sum();
        waits as f64 * WAKE_UP >= MUCH_HANDED_OVER * self.process.seconds
    }

    /// Whether threads wait long for holders that sleep until something happens that the recording
    /// lacks, such as an answer from a socket. If a thread of the same process gives the answers,
    /// that thread delays the replay for as long as the waits did.
    fn waits_for_sleepers(&self, remedy: &Remedy) -> bool {
        let Remedy::CheaperCalls { sites, waits_left, .. } = remedy else { return false };
        let waited: f64 = sites.iter().map(|&site| self.process.sites[site].figures.waited).sum();
        *waits_left < 1.0
            && waited >= MUCH_WAITED * self.process.thread_seconds
            && 1.0 - on_processor(self.process, sites) > MOSTLY
    }
}
