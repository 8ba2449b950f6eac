//! Describes the size of a machine in one line: how many processors, cores, nodes and packages it
//! has.

use std::collections::BTreeSet;

use crate::measurement::Subject;
use crate::topology::HardwareThread;
use syncline_present::number;

/// The size of a machine in words, such as "2 hardware threads, 2 cores, 1 NUMA node, 1 package; L1
/// 32 KiB, L2 1 MiB".
pub fn shape(subject: &Subject) -> String {
    let count = |part: fn(&HardwareThread) -> Option<usize>| {
        subject.places.iter().filter_map(part).collect::<BTreeSet<_>>().len()
    };
    let parts = [
        (subject.places.len(), "hardware thread"),
        (count(|place| Some(place.core)), "core"),
        (count(|place| place.llc), "last-level cache"),
        (count(|place| Some(place.node)), "NUMA node"),
        (count(|place| Some(place.package)), "package"),
    ];
    // The description of a simulated machine says nothing about packages.
    let known = if subject.native { parts.len() } else { parts.len() - 1 };
    let parts = parts[..known].iter().filter(|(count, _)| *count > 0);
    let parts = parts.map(|&(n, what)| number::counted(n, what));
    let sizes =
        [("L1", subject.caches.l1), ("L2", subject.caches.l2), ("last level", subject.caches.llc)];
    let sizes = sizes.iter().filter(|(_, bytes)| *bytes > 0);
    let sizes: Vec<String> =
        sizes.map(|&(of, bytes)| format!("{of} {}", number::bytes(bytes as u64))).collect();
    let parts = parts.collect::<Vec<_>>().join(", ");
    if sizes.is_empty() { parts } else { format!("{parts}; {}", sizes.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Caches;

    #[test]
    fn unknown_parts_are_left_out() {
        let place = |n| HardwareThread {
            processor: n,
            core: n / 2,
            llc: Some(0),
            ..HardwareThread::default()
        };
        let mut subject = Subject {
            title: String::new(),
            native: true,
            processors: (0..4).collect(),
            places: (0..4).map(place).collect(),
            caches: Caches { l1: 48 << 10, l2: 2 << 20, llc: 0 },
            store_buffer: None,
            hertz: 1e9,
            ticks_per_second: 1e9,
            clock_cycles: 0.0,
            topology: "hwloc",
        };
        assert_eq!(
            shape(&subject),
            "4 hardware threads, 2 cores, 1 last-level cache, 1 NUMA node, 1 package; \
             L1 48 KiB, L2 2 MiB"
        );
        subject.caches = Caches::default();
        subject.places.iter_mut().for_each(|place| place.llc = None);
        assert_eq!(shape(&subject), "4 hardware threads, 2 cores, 1 NUMA node, 1 package");
    }
}
