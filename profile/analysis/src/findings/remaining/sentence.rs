//! The sentence about a time that no finding explains: when there is one, and its parts as a text.

/// The least share of the threads' time that is reported.
pub const LEAST: f64 = 0.02;

/// The parts, with semicolons between them, as one sentence.
pub fn joined(parts: &[String]) -> String {
    let mut text = parts.join("; ");
    text.push('.');
    text
}
