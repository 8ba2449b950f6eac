//! Cache lines that several processors write although their threads share no data: locks that lie
//! side by side ([`locks`]), or a lock next to other data ([`beside`]). Each use of a lock writes
//! its line, which the next processor then has to fetch.

mod beside;
mod locks;

use crate::model::{Answer, Finding, OpenQuestion, Process};
use crate::options::Thresholds;

/// About how many seconds it takes to fetch a cache line that another processor has written;
/// between two sockets it takes longer.
const FETCH: f64 = 60e-9;
/// The least share of the run time, all threads together, that fetching takes.
const FLOOR: f64 = 0.02;

/// Shared lines of both sorts.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    if process.seconds <= 0.0 || process.processors == Some(1) {
        return Vec::new();
    }
    let mut findings = locks::find(process, thresholds);
    findings.extend(beside::find(process, thresholds));
    findings
}

/// The question whether threads use a line at the same time.
fn ask_hardware(question: &str) -> Option<OpenQuestion> {
    Some(OpenQuestion { question: question.to_owned(), command: Answer::CacheLines })
}
