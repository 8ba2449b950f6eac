//! The numbers that locks and call sites have in common.

use serde::Serialize;
use syncline_recording::Primitive;
use syncline_recording::layout::{BUCKETS, FIRST_BUCKET_LOG2};

/// What kind of object a thread waits for, and so what its waiting means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A lock. A thread that waits for another one to leave a critical section loses this time.
    Lock,
    /// A futex of the program's own. It may be a lock or an event; a recording does not show which.
    Futex,
    /// An event. The thread may lose time, or it may be a worker without work.
    Event,
}

impl Kind {
    /// The kind of waiting for objects of a primitive.
    pub fn of(primitive: Primitive) -> Kind {
        use Primitive::*;
        match primitive {
            Mutex | Rwlock | Spinlock | OmpCritical | OmpLock => Kind::Lock,
            Futex => Kind::Futex,
            Condvar | Barrier | Semaphore | Thread | OmpBarrier | Yield | Sleep | Spin => {
                Kind::Event
            }
        }
    }
}

/// Time waited, in seconds, summed over all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Waiting {
    /// For locks.
    pub locks: f64,
    /// In futexes of the program's own.
    pub futexes: f64,
    /// For events.
    pub events: f64,
}

impl Waiting {
    /// Adds time that was waited for objects of `kind`.
    pub fn add(&mut self, kind: Kind, seconds: f64) {
        match kind {
            Kind::Lock => self.locks += seconds,
            Kind::Futex => self.futexes += seconds,
            Kind::Event => self.events += seconds,
        }
    }
}

/// What was done to a lock, or at a call site.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Calls that succeeded: acquisitions, returns from waiting, wake-ups.
    pub calls: u64,
    /// Calls that had to wait and whose wait has ended, with success or not.
    pub waits: u64,
    /// Waits that ended with a time-out.
    pub timeouts: u64,
    /// Try operations that were refused.
    pub refused: u64,
    /// Seconds that threads spent polling: the time between two refused tries, or two yields, if
    /// one thread made them within 5 microseconds and released no lock in between; and, according
    /// to samples, the time in loops that only wait. `waited` does not include these seconds.
    pub spun: f64,
    /// Seconds that the recorder itself took while a thread held a lock for which it had waited.
    /// The time held does not include these seconds, but other threads' waits do.
    pub recorder: f64,
    /// Waits that had not ended when the recording ended.
    pub unfinished: u64,
    /// The share of the attempts to acquire that found the lock taken: they had to wait or were
    /// refused (SyncPerf, figure 1). 0 if there are none.
    pub contention: f64,
    /// `calls` divided by the seconds of the process's run time.
    pub calls_per_second: f64,
    /// Seconds waited, including waits that had not ended.
    pub waited: f64,
    /// The longest wait, in seconds.
    pub waited_max: f64,
    /// Seconds held, an estimate. The holds of all acquisitions that waited are timed, and those of
    /// a sample of the others. Each acquisition that did not wait counts with the sample's mean. A
    /// large sample's longest hold, or a small sample's outlier, counts once and is left out of the
    /// mean.
    pub held: f64,
    /// The longest of the timed holds, in seconds.
    pub held_max: f64,
    /// Acquisitions whose time held was measured.
    pub held_timed: u64,
    /// Whether the holders had a processor, in some of the holds.
    pub holder: HolderTime,
    /// Waits for a condition whose wake-up found nothing to do: the thread waited again
    /// without having released the lock.
    pub futile: u64,
    /// The waits that ended, by their length.
    pub histogram: Histogram,
}

impl Figures {
    /// Seconds that threads waited or polled.
    pub fn lost(&self) -> f64 {
        self.waited + self.spun
    }
}

/// Whether holders had a processor in the sampled holds: some of those whose acquisition waited,
/// and a few of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HolderTime {
    /// Holds that were sampled.
    pub looked_at: u64,
    /// The total seconds of these holds.
    pub seconds: f64,
    /// Seconds of these holds in which the holder was not on a processor.
    pub off_cpu: f64,
    /// How often the holder gave its processor up: it slept, or waited for a device.
    pub slept: u64,
    /// How often the holder was preempted.
    pub preempted: u64,
}

impl HolderTime {
    /// The share of the sampled holds' time in which the holder was not on a processor; 0 if
    /// nothing was sampled.
    pub fn off_cpu_share(&self) -> f64 {
        if self.seconds > 0.0 { (self.off_cpu / self.seconds).min(1.0) } else { 0.0 }
    }
}

/// The number of waits in each range of lengths. The upper bound of each bucket is twice that of
/// the one before.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Histogram {
    /// The buckets that are not empty, the shortest waits first.
    pub buckets: Vec<Bucket>,
}

/// Waits of about one length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bucket {
    /// The lower bound of these waits, in seconds.
    pub from: f64,
    /// The upper bound of these waits, in seconds; `None` for the last bucket, which is open.
    pub to: Option<f64>,
    /// The number of waits.
    pub waits: u64,
}

impl Histogram {
    /// Converts a recording's buckets, whose bounds are in ticks.
    pub(crate) fn new(counts: &[u64; BUCKETS], ticks_per_second: f64) -> Histogram {
        let bound = |place: usize| {
            2f64.powi(place as i32 + FIRST_BUCKET_LOG2 as i32 - 1) / ticks_per_second
        };
        let bucket = |(place, &waits): (usize, &u64)| Bucket {
            from: if place == 0 { 0.0 } else { bound(place) },
            to: (place + 1 < BUCKETS).then(|| bound(place + 1)),
            waits,
        };
        let used = counts.iter().enumerate().filter(|(_, waits)| **waits > 0);
        Histogram { buckets: used.map(bucket).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histogram_buckets_are_in_seconds() {
        let mut counts = [0; BUCKETS];
        counts[0] = 5;
        counts[1] = 3;
        counts[BUCKETS - 1] = 1;
        let buckets = Histogram::new(&counts, 1e9).buckets;
        let first = Bucket { from: 0.0, to: Some(128e-9), waits: 5 };
        let second = Bucket { from: 128e-9, to: Some(256e-9), waits: 3 };
        assert_eq!(buckets[..2], [first, second]);
        assert_eq!((buckets[2].to, buckets[2].waits), (None, 1));
        assert_eq!(buckets.len(), 3);
    }
}
