//! What the library has to say to the user, on standard error. A rank of many says it: callers see
//! to that.

use std::io::{Write, stderr};

/// Says a sentence.
pub fn say(sentence: &str) {
    // Standard error may be closed, and there is nowhere else to say it.
    let _ = writeln!(stderr(), "syncline: {sentence}");
}
