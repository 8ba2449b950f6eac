//! What the sentences about unexplained time have in common: the least time for a sentence, and how
//! its parts are joined.

/// Waiting that takes a smaller share of the threads' time gets no sentence.
pub const LEAST: f64 = 0.02;

/// The parts, with semicolons between them, as one sentence.
pub fn joined(parts: &[String]) -> String {
    let mut text = parts.join("; ");
    text.push('.');
    text
}
