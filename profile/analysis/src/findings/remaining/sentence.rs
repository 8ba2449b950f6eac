//! Sentences about time that no finding explains: from which share of time on there is one, and how
//! its parts are joined.

/// The least share of the threads' time that is reported.
pub const LEAST: f64 = 0.02;

/// The parts, with semicolons between them, as one sentence.
pub fn joined(parts: &[String]) -> String {
    let mut text = parts.join("; ");
    text.push('.');
    text
}
