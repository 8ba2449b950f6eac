//! Cache lines that several processors write although their threads share no data: locks that lie
//! side by side ([`locks`]), or a lock next to other data ([`beside`]). Each use of a lock writes
//! its line, which the next processor then has to fetch.

mod beside;
mod fetching;
mod locks;

use crate::model::{Finding, Process};
use crate::options::Thresholds;

/// The findings about shared lines of both kinds.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    if process.seconds <= 0.0 || process.processors == Some(1) {
        return Vec::new();
    }
    let mut findings = locks::find(process, thresholds);
    findings.extend(beside::find(process, thresholds));
    findings
}
