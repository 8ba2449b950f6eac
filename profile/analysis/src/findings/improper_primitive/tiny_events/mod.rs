//! Events that come so fast that putting threads to sleep and waking them costs much compared with
//! the threads' work in between (as in facesim, see SyncPerf). The events are meetings at a
//! barrier, parallel regions of OpenMP, and pieces of work that threads hand to one another, through
//! conditions and semaphores or through the kernel.

mod descriptors;
mod finding;
mod hand_overs;
mod meetings;
mod regions;
mod short_sleeps;

use std::collections::BTreeSet;

use crate::findings::family::Family;
use crate::model::{Finding, Process};
use crate::options::Thresholds;

/// The findings about threads that sleep for tiny events. If a barrier is reported, its condition
/// is not reported again.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let families = Family::all(process);
    let mut findings = meetings::find(process, &families, thresholds);
    let said: BTreeSet<usize> =
        findings.iter().flat_map(|finding| &finding.sites).copied().collect();
    findings.extend(hand_overs::find(process, &families, thresholds, &said));
    findings.extend(regions::find(process, thresholds));
    findings.extend(descriptors::find(process, thresholds));
    findings
}
