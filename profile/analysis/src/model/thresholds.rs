//! What counts as high.

use serde::Serialize;

/// The values above which a lock or a call site is called contended, or busy.
///
/// The defaults are those of SyncPerf (section 4.1), which found them by experience.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Thresholds {
    /// A higher share of acquisitions that found the lock taken is high contention.
    pub contention: f64,
    /// More acquisitions in a second of the process's time are many.
    pub acquisitions_per_second: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds { contention: 0.10, acquisitions_per_second: 1000.0 }
    }
}
