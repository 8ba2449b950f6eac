//! The critical path.

use std::collections::BTreeMap;

use serde::Serialize;

/// The critical path: what the end of the run waited for, traced back to the start of the run.
/// Empty if the process had one thread only, or did not exit by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CriticalPath {
    /// Seconds of the run that were traced back: those for which the logs of all threads are
    /// complete.
    pub seconds: f64,
    /// How often the path passes from one thread to another.
    pub hand_overs: u64,
    /// The parts of the path, those with most time first. Their seconds add up to `seconds`.
    pub parts: Vec<PathPart>,
    /// Seconds of the path that are due to waits at each site, by the site's index in
    /// [`super::Process::sites`]. These are waits that no thread ended, wake-ups, and what threads
    /// did from the end of a wait at the site until their next wait.
    #[serde(skip)]
    pub through: BTreeMap<usize, f64>,
    /// Seconds of the sleeps at each site, by the site's index, during which each other thread
    /// waited too, or did not live.
    #[serde(skip)]
    pub alone: BTreeMap<usize, f64>,
    /// What a thread did on the path while all other threads waited for events, by its index in
    /// [`super::Process::threads`].
    #[serde(skip)]
    pub stages: BTreeMap<usize, Stage>,
}

/// What one thread did while all other threads waited for events or did not live, from the start of
/// the first of them to the end of the last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stage {
    /// Total seconds.
    pub seconds: f64,
    /// Seconds of the longest piece.
    pub longest: f64,
    /// The number of pieces, between which other threads did something too.
    pub pieces: u64,
    /// Seconds of the other threads' waits in these times, summed over the threads, by the site's
    /// index in [`super::Process::sites`].
    pub meanwhile: BTreeMap<usize, f64>,
}

/// Pieces of the critical path that are of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathPart {
    /// What the threads did.
    pub kind: OnPath,
    /// For sleeps, wake-ups and waits: the site's index in [`super::Process::sites`].
    pub site: Option<usize>,
    /// The threads, as indexes of [`super::Process::threads`]. For a wake-up, the threads that were
    /// woken.
    pub threads: Vec<usize>,
    /// Total seconds of all pieces.
    pub seconds: f64,
    /// How many pieces there are.
    pub pieces: u64,
}

/// What a thread on the critical path did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnPath {
    /// The thread ran on a processor.
    Running,
    /// The thread was ready to run and had no processor, or it yielded.
    Ready,
    /// The thread was in the kernel, for example for input and output.
    Kernel,
    /// The thread slept for a given time, or waited until a time-out.
    Sleep,
    /// The thread had been woken and did not run yet.
    WakeUp,
    /// The thread waited, and it is not known which thread ended the wait; or it is not known what
    /// the thread did.
    Unknown,
}

/// If a larger share of the path than this is not known, or in the kernel, the path does not prove
/// that a site is not on it.
const IN_THE_DARK: f64 = 0.2;

/// Waits with less than this share of the critical path do not delay the run.
const ON_PATH: f64 = 0.02;

impl CriticalPath {
    /// The share of the path, from 0 to 1, that `part` takes.
    pub fn share(&self, part: &PathPart) -> f64 {
        part.seconds / self.seconds.max(f64::MIN_POSITIVE)
    }

    /// The share of the path, from 0 to 1, that is due to waits at this site; `None` if too little
    /// of the path is known.
    pub fn through(&self, site: usize) -> Option<f64> {
        let seconds = || self.through.get(&site).copied().unwrap_or(0.0);
        self.is_known().then(|| seconds() / self.seconds)
    }

    /// The share of the path, from 0 to 1, that is due to sleeps at this site while all other
    /// threads waited.
    pub fn alone(&self, site: usize) -> f64 {
        let seconds = self.alone.get(&site).copied().unwrap_or(0.0);
        seconds / self.seconds.max(f64::MIN_POSITIVE)
    }

    /// Whether waits at this site delay the run; `None` if too little of the path is known.
    pub fn is_delayed_at(&self, site: usize) -> Option<bool> {
        self.through(site).map(|share| share >= ON_PATH)
    }

    /// Whether enough of the path is known to say that a site is not on it.
    pub fn is_known(&self) -> bool {
        let dark = |part: &&PathPart| [OnPath::Kernel, OnPath::Unknown].contains(&part.kind);
        let dark: f64 = self.parts.iter().filter(dark).map(|part| part.seconds).sum();
        self.seconds > 0.0 && dark <= IN_THE_DARK * self.seconds
    }
}
