//! Prints this library's messages on standard error. If a message is about all ranks, the callers
//! make sure that only one rank prints it.

/// Prints a sentence.
pub fn say(sentence: &str) {
    syncline_fabric::say(&format!("syncline: {sentence}"));
}
