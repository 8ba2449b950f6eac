//! Waits until a bucket's holder releases it, and detects the holder's death.

use std::time::Duration;

use syncline_fabric::{Fabric, Position};

use crate::layout::Version;

/// The time after which a waiter first checks whether the holder lives. The time to the next check
/// doubles with each check, up to `RARELY`. A holder has few operations to do, so checks are made
/// only if the holder was preempted or has died.
const ASK: Duration = Duration::from_millis(1);
const RARELY: Duration = Duration::from_millis(100);
/// The clock is read once in this many polls.
const LOOKS: u32 = 16;

/// A wait in progress.
pub(crate) struct Wait {
    looks: u32,
    /// The time of the next check; `None` if the clock has not been read yet. `again` is the length
    /// of the wait before that check.
    ask_at: Option<Duration>,
    again: Duration,
}

impl Wait {
    pub fn new() -> Wait {
        Wait { looks: 0, ask_at: None, again: ASK }
    }

    /// Pauses before the next read of a bucket's version. Returns `true` if a check is due and the
    /// rank that holds the bucket, according to `version`, is known to be dead.
    #[cold]
    pub fn pause(&mut self, fabric: &impl Fabric, at: Position, version: Version) -> bool {
        self.looks += 1;
        fabric.pause(at, self.looks);
        if !self.looks.is_multiple_of(LOOKS) {
            return false;
        }
        let now = fabric.now();
        let ask_at = *self.ask_at.get_or_insert(now + self.again);
        if now < ask_at {
            return false;
        }
        self.again = (self.again * 2).min(RARELY);
        self.ask_at = Some(now + self.again);
        version.holder().is_some_and(|holder| !fabric.is_alive(holder))
    }
}
