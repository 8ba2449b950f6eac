//! The values above which contention and acquisitions count as high.

use serde::Serialize;

/// The values above which a lock or a call site is called contended, or busy.
///
/// The defaults are those of SyncPerf (section 4.1), whose authors chose them by experience.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Thresholds {
    /// Contention is high if a larger share of the attempts to acquire found the lock taken.
    pub contention: f64,
    /// A lock is busy if it has more acquisitions than this in a second of the process's run time.
    pub acquisitions_per_second: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds { contention: 0.10, acquisitions_per_second: 1000.0 }
    }
}
