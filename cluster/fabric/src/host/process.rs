//! Whether a rank's process lives.
//!
//! A number alone does not say, as it is given to another process in time: a process is known by
//! when it was started as well. The ranks must see each other's numbers, so they are in one container.

use std::fs;

/// What a process is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub number: u64,
    /// When it was started, in ticks since the machine was.
    pub started: u64,
}

impl Process {
    /// This process; none if the kernel does not say.
    pub fn own() -> Option<Process> {
        let number = u64::from(std::process::id());
        Some(Process { number, started: state(number)?.started })
    }

    /// Whether it lives. Once it does not, it never will.
    pub fn lives(&self) -> bool {
        state(self.number).is_some_and(|now| !now.ended && now.started == self.started)
    }
}

/// What the kernel says of a process.
struct State {
    /// It has ended, and its parent has not asked yet.
    ended: bool,
    started: u64,
}

fn state(number: u64) -> Option<State> {
    let text = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name before it may have spaces and parentheses of its own.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let letter = fields.next()?;
    // Fields 20 and 22; the letter was the third.
    let threads: u64 = fields.nth(16)?.parse().ok()?;
    let started = fields.nth(1)?.parse().ok()?;
    // Of a process that goes on in other threads, the first may have ended.
    Some(State { ended: matches!(letter, "Z" | "X") && threads <= 1, started })
}
