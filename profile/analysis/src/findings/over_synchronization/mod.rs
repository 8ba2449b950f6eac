//! Over-synchronization: locks that nothing needs (SyncPerf, section 2.1.3).

mod serialized_by_outer;
mod unneeded;

use crate::model::{Finding, Process};
use crate::options::Thresholds;

/// The findings of this kind.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let mut findings = unneeded::find(process, thresholds);
    findings.extend(serialized_by_outer::find(process, thresholds));
    findings
}
