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
    /// How often the path goes from one thread to another.
    pub hand_overs: u64,
    /// The parts of the path, most time first. Their seconds add up to `seconds`.
    pub parts: Vec<PathPart>,
    /// Seconds of the path that are due to waits at each site, by index in
    /// [`super::Process::sites`]: the waits that no thread ended, the wake-ups, and what threads
    /// did from the end of such a wait until their next wait.
    #[serde(skip)]
    pub through: BTreeMap<usize, f64>,
}

/// Pieces of the critical path that are of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathPart {
    /// What the threads did.
    pub kind: OnPath,
    /// For sleeps, wake-ups and waits: index in [`super::Process::sites`].
    pub site: Option<usize>,
    /// The threads, as indexes of [`super::Process::threads`]. For a wake-up, those that were woken.
    pub threads: Vec<usize>,
    /// Seconds of all pieces.
    pub seconds: f64,
    /// How many pieces there are.
    pub pieces: u64,
}

/// What a thread on the critical path did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnPath {
    /// It ran on a processor.
    Running,
    /// It was ready to run and had no processor.
    Ready,
    /// It was in the kernel, for input and output for instance.
    Kernel,
    /// It slept for a given time, or waited until a time-out.
    Sleep,
    /// It had been woken and did not run yet.
    WakeUp,
    /// It waited, and the thread that ended the wait is not known; or what it did is not known.
    Unknown,
}

/// If a larger share of a path is not known, or in the kernel, the path does not show what is not
/// on it.
const IN_THE_DARK: f64 = 0.2;

/// Waits with less than this share of the critical path do not delay the run.
const ON_PATH: f64 = 0.02;

impl CriticalPath {
    /// The share of the path, from 0 to 1, that a part takes.
    pub fn share(&self, part: &PathPart) -> f64 {
        part.seconds / self.seconds.max(f64::MIN_POSITIVE)
    }

    /// The share of the path, from 0 to 1, that is due to waits at this site; `None` if too little
    /// of the path is known.
    pub fn through(&self, site: usize) -> Option<f64> {
        let seconds = || self.through.get(&site).copied().unwrap_or(0.0);
        self.is_known().then(|| seconds() / self.seconds)
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
