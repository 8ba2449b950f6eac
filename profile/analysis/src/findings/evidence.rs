//! Numbers of a finding, each with its unit.

use crate::model::{Answer, Evidence, Inspected, OpenQuestion, Unit};

/// A number of things.
pub fn count(what: &str, number: u64) -> Evidence {
    number_of(what, number as f64, Unit::Count)
}

/// A number of things in a second.
pub fn rate(what: &str, per_second: f64) -> Evidence {
    number_of(what, per_second, Unit::PerSecond)
}

/// A time.
pub fn seconds(what: &str, seconds: f64) -> Evidence {
    number_of(what, seconds, Unit::Seconds)
}

/// A share from 0 to 1.
pub fn share(what: &str, share: f64) -> Evidence {
    number_of(what, share, Unit::Share)
}

/// A factor.
pub fn times(what: &str, times: f64) -> Evidence {
    number_of(what, times, Unit::Times)
}

fn number_of(what: &str, value: f64, unit: Unit) -> Evidence {
    Evidence { what: what.to_owned(), value, unit }
}

/// The evidence from a trace: how many sections were traced, in how many threads, and the share of
/// pairs that are independent.
pub fn traced(inspected: &Inspected) -> Vec<Evidence> {
    let mut evidence = vec![
        count("sections traced here", inspected.sections),
        count("threads in traced sections", inspected.threads as u64),
    ];
    if let Some(independent) = inspected.independent {
        evidence.push(share("pairs of traced sections that are independent", independent));
    }
    evidence
}

/// The question whether threads use a line at the same time.
pub fn ask_hardware(question: &str) -> Option<OpenQuestion> {
    Some(OpenQuestion { question: question.to_owned(), command: Answer::CacheLines })
}

/// A question about what the instructions of critical sections do.
pub fn ask_inspect(question: &str) -> Option<OpenQuestion> {
    Some(OpenQuestion { question: question.to_owned(), command: Answer::Inspect(None) })
}
