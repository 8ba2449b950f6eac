//! The kernel's own count of waits, from its tracepoint `lock:contention_begin`. It is a second
//! source, with which the plugin's waits in the same run are checked.
//!
//! A histogram in tracefs counts by lock and kind. The histogram runs a little longer than the
//! recording.
//!
//! - Spinlocks: the histogram counts the waiters in the queue, but not the waiter in front, which
//!   waits for the pending bit.
//! - Semaphores: the histogram counts the waiters that sleep, but not those that spin.
//! - Mutexes: a waiter counts once when it begins to spin, once more for each sleep, and once each
//!   time that it spins again after a sleep (`__mutex_lock_common` of Linux 6.1). So the number of
//!   separate waits is at least the number of times that spinning began, minus the number of
//!   sleeps.
//!
//! For each lock, the plugin must have followed at least as many waits, except for those right
//! before the first marker or after the last one.

use std::collections::{BTreeMap, HashMap};

use syncline_trace::Trace;

/// The two counts of waits, compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Compared {
    /// The least number of waits that the kernel's counts imply.
    pub of_kernel: u64,
    /// Number of locks in the kernel's histogram.
    pub locks: usize,
    /// Waits for the same locks that the plugin followed.
    pub followed: u64,
    /// Waits in `of_kernel` that the plugin did not follow.
    pub missed: u64,
    /// Waits for which the kernel's histogram had no room.
    pub dropped: u64,
}

/// Bits of a count's kind (`LCB_F_SPIN`, `LCB_F_MUTEX`).
const SPIN: u32 = 1;
const MUTEX: u32 = 1 << 5;

/// The least number of waits per lock, from a histogram of tracefs; and how many waits it dropped.
pub fn counts(histogram: &str) -> (BTreeMap<u64, u64>, u64) {
    let mut counts: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
    let mut dropped = 0;
    for line in histogram.lines() {
        let behind = |mark: &str| Some(line.split_once(mark)?.1.trim_start());
        let word = |text: &str| text.split([',', ' ']).next().unwrap_or_default().to_owned();
        let lock = behind("lock_addr:").and_then(|text| u64::from_str_radix(&word(text), 16).ok());
        let kind = behind("flags:").and_then(|text| word(text).parse::<u32>().ok()).unwrap_or(0);
        let hits = behind("hitcount:").and_then(|text| text.trim().parse::<u64>().ok());
        if let (Some(lock), Some(hits)) = (lock, hits) {
            let [waits, again] = counts.entry(lock).or_default();
            match kind & (MUTEX | SPIN) {
                MUTEX => *again += hits,
                _ => *waits += hits,
            }
        } else if let Some(number) = behind("Dropped:").and_then(|text| text.trim().parse().ok()) {
            dropped = number;
        }
    }
    let at_least = |(lock, [waits, again]): (u64, [u64; 2])| (lock, waits.saturating_sub(again));
    (counts.into_iter().map(at_least).collect(), dropped)
}

/// Compares the counts; `None` if there is no histogram, as for a kernel without tracepoints.
pub fn compared(histogram: &str, trace: &Trace) -> Option<Compared> {
    let (of_kernel, dropped) = counts(histogram);
    let mut followed: HashMap<u64, u64> = HashMap::new();
    for (_, count) in &trace.counts {
        *followed.entry(count.lock).or_default() += count.contended;
    }
    (!histogram.is_empty()).then(|| compare(&of_kernel, &followed, dropped))
}

fn compare(of_kernel: &BTreeMap<u64, u64>, followed: &HashMap<u64, u64>, dropped: u64) -> Compared {
    let mut all = Compared { locks: of_kernel.len(), dropped, ..Compared::default() };
    for (lock, &waits) in of_kernel {
        let own = followed.get(lock).copied().unwrap_or(0);
        all.of_kernel += waits;
        all.followed += own;
        all.missed += waits.saturating_sub(own);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const HISTOGRAM: &str = "\
# trigger info: hist:keys=lock_addr.hex,flags:vals=hitcount:sort=hitcount:size=16384 [active]
#
{ lock_addr: ffffffff82a06080, flags:          3 } hitcount:          1
{ lock_addr: ffff888003ddec10, flags:          2 } hitcount:         42
{ lock_addr: ffff888003ddec10, flags:          4 } hitcount:         55
{ lock_addr: ffff888004b30400, flags:         32 } hitcount:         32
{ lock_addr: ffff888004b30400, flags:         33 } hitcount:        142

Totals:
    Hits: 98
    Entries: 3
    Dropped: 2
";

    #[test]
    fn the_kernels_counts_are_read_and_held_against_ours() {
        let (of_kernel, dropped) = counts(HISTOGRAM);
        assert_eq!((of_kernel.len(), of_kernel[&0xffff_8880_04b3_0400]), (3, 110));
        assert_eq!((of_kernel[&0xffff_8880_03dd_ec10], dropped), (97, 2));
        let waits = [(0xffff_8880_03dd_ec10, 120), (0xffff_8880_04b3_0400, 135), (0x10, 7)];
        let followed = HashMap::from(waits);
        let all = compare(&of_kernel, &followed, dropped);
        let expected = Compared { of_kernel: 208, locks: 3, followed: 255, missed: 1, dropped: 2 };
        assert_eq!(all, expected);
        assert_eq!(counts("nothing of the kind\nlock_addr: x hitcount: y"), (BTreeMap::new(), 0));
    }
}
