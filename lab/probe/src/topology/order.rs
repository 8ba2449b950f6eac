//! Orders in which threads can be assigned to a machine's hardware threads.

use super::{HardwareThread, Topology};

impl Topology {
    /// The processors, one socket after another. In each socket, one hardware thread of each core
    /// comes first, and then the second ones.
    pub fn packed(&self) -> Vec<usize> {
        packed(&self.threads)
    }

    /// The processors, with the sockets in turn: the first processor of each socket, then the
    /// second of each.
    pub fn spread(&self) -> Vec<usize> {
        spread(&self.threads)
    }
}

fn packed(places: &[HardwareThread]) -> Vec<usize> {
    let mut ordered: Vec<_> = places
        .iter()
        .map(|place| {
            let before = places.iter().filter(|p| p.processor < place.processor);
            let sibling = before.filter(|p| p.core == place.core).count();
            (place.package, sibling, place.processor)
        })
        .collect();
    ordered.sort_unstable();
    ordered.into_iter().map(|(.., processor)| processor).collect()
}

fn spread(places: &[HardwareThread]) -> Vec<usize> {
    let package = |processor: &usize| {
        places.iter().find(|place| place.processor == *processor).map(|place| place.package)
    };
    let packed = packed(places);
    let mut ordered: Vec<_> = packed
        .iter()
        .enumerate()
        .map(|(at, processor)| {
            let socket = package(processor);
            let before = packed[..at].iter().filter(|other| package(other) == socket).count();
            (before, at, *processor)
        })
        .collect();
    ordered.sort_unstable();
    ordered.into_iter().map(|(.., processor)| processor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets with two cores each, and two hardware threads in each core, numbered as on
    /// Linux.
    fn machine() -> Vec<HardwareThread> {
        let place = |processor: usize| HardwareThread {
            processor,
            core: processor % 4,
            l2: None,
            llc: None,
            node: 0,
            package: processor % 4 / 2,
        };
        (0..8).map(place).collect()
    }

    #[test]
    fn packed_fills_a_socket_and_spread_takes_turns() {
        assert_eq!(packed(&machine()), [0, 1, 4, 5, 2, 3, 6, 7]);
        assert_eq!(spread(&machine()), [0, 2, 1, 3, 4, 6, 5, 7]);
    }
}
