//! Improper granularity: a lock covers too much, or each acquisition too little (SyncPerf, section
//! 2.1.2); a queue holds too little; or a thread gets too little work.

mod contended;
mod many_tiny;
mod one_at_a_time;
mod own_lock;
mod short_queue;
mod taken_often;
pub mod thread_each;

use crate::model::{Finding, Process};
use crate::options::Thresholds;

/// The findings of this kind.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let mut findings = contended::find(process, thresholds);
    findings.extend(many_tiny::find(process, thresholds));
    findings.extend(short_queue::find(process, thresholds));
    findings.extend(taken_often::find(process, thresholds));
    findings.extend(one_at_a_time::find(process, thresholds));
    findings.extend(own_lock::find(process));
    findings.extend(own_lock::semaphore::find(process));
    findings.extend(own_lock::baton::find(process));
    findings.extend(thread_each::find(process, thresholds));
    findings
}
