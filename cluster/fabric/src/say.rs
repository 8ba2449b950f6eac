//! Prints messages of ranks on standard error.

use std::io::{Write, stderr};

/// Prints a line, in one write: the ranks share their standard error.
pub fn say(line: &str) {
    // An error is ignored: standard error may be closed, and there is no other place for messages.
    let _ = stderr().write_all(format!("{line}\n").as_bytes());
}
