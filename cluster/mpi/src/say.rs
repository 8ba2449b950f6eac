//! Prints messages of this library on standard error. Callers make sure that only one of many ranks
//! prints a message, unless it is about what a single rank has done.

use std::io::{Write, stderr};

/// Prints a sentence.
pub fn say(sentence: &str) {
    // Standard error may be closed, and there is no other output.
    let _ = writeln!(stderr(), "syncline: {sentence}");
}
