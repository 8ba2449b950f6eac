//! Words that the reports share.

use syncline_recording::command_line;

use crate::model::{Process, Quadrant, State};
use crate::report::number::counted;

/// How a process ended.
pub fn state(process: &Process) -> String {
    match process.state {
        State::Exited { status: Some(status) } => format!("exit status {status}"),
        State::Exited { status: None } => "exited".to_owned(),
        State::Killed { signal } => format!("ended by signal {signal}"),
        State::Unknown => "ended without notice, or still runs".to_owned(),
    }
}

/// The command line of a process.
pub fn command(process: &Process) -> String {
    if process.arguments.is_empty() { process.name() } else { command_line(&process.arguments) }
}

/// How many threads there were.
pub fn threads(process: &Process) -> String {
    let threads = process.threads.iter().map(|thread| thread.lifetimes.max(1) as usize).sum();
    counted(threads, "thread")
}

/// The quadrants, those first that cost most, and what they mean.
pub const QUADRANTS: [(Quadrant, &str); 4] = [
    (Quadrant::Q2, "contended, taken often"),
    (Quadrant::Q1, "contended, taken seldom"),
    (Quadrant::Q4, "not contended, taken often"),
    (Quadrant::Q3, "not contended, taken seldom"),
];
