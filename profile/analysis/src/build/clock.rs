//! The clock of a recording, which converts ticks to seconds.

use syncline_recording::{ProcessFile, Session};

/// The clock of a recording.
pub struct Clock {
    ticks_per_second: f64,
    started: u64,
    ended: u64,
}

impl Clock {
    /// The clock of a process's file. If the file does not say when the process ended, the clock
    /// ends with the session, or when the process last recorded something or was read, whichever is
    /// latest.
    pub fn new(file: &ProcessFile, session: Option<&Session>) -> Clock {
        let header = &file.header;
        let ticks_per_second = header.ticks_per_second as f64;
        let seen = file.ended().max(header.started);
        let told = session.and_then(|session| session.seconds).filter(|_| header.ended == 0);
        let told = told.map_or(0, |seconds| (seconds.max(0.0) * ticks_per_second) as u64);
        let ended = seen.max(header.started.saturating_add(told));
        Clock { ticks_per_second, started: header.started, ended }
    }

    /// Converts ticks to seconds.
    pub fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_second
    }

    /// Converts seconds to ticks.
    pub fn ticks(&self, seconds: f64) -> u64 {
        (seconds * self.ticks_per_second) as u64
    }

    /// Converts a moment to seconds since the recording began.
    pub fn since_start(&self, moment: u64) -> f64 {
        self.seconds(moment.saturating_sub(self.started))
    }

    /// The end of the recording, in ticks.
    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// The number of ticks in a second.
    pub fn ticks_per_second(&self) -> f64 {
        self.ticks_per_second
    }

    /// Seconds that were recorded.
    pub fn run_seconds(&self) -> f64 {
        self.seconds(self.ended - self.started)
    }
}
