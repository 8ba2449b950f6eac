//! Prints this library's messages on standard error. If a message is about all ranks, the callers
//! make sure that only one rank prints it.

use std::io::{Write, stderr};

/// Prints a sentence, in one write: the ranks share their standard error.
pub fn say(sentence: &str) {
    // An error is ignored: standard error may be closed, and there is no other place for messages.
    let _ = stderr().write_all(format!("syncline: {sentence}\n").as_bytes());
}
