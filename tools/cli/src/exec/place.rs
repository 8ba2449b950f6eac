//! Where a program's threads run: `syncline exec --place`, and what `syncline try` tries of it.

use std::collections::BTreeSet;
use std::ffi::OsString;

use syncline_probe::topology::{Place, Topology};

use crate::failure::{Failure, RECORD_FAILED};

/// Where a program's threads run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Placement {
    /// All on one socket
    OneSocket,
    /// Each on a processor of its own, near each other; starting over when all are used
    Packed,
    /// Each on a processor of its own, far from each other; starting over when all are used
    Spread,
    /// All on one processor
    OneProcessor,
}

impl Placement {
    /// The placements that differ on this machine.
    pub fn different() -> Vec<Placement> {
        let Ok(places) = places() else { return Vec::new() };
        let sockets: BTreeSet<_> = places.iter().map(|place| place.package).collect();
        let mut all = vec![Placement::Packed];
        if spread(&places) != packed(&places) {
            all.push(Placement::Spread);
        }
        if sockets.len() > 1 {
            all.push(Placement::OneSocket);
        }
        all
    }

    /// Its name on the command line.
    pub fn name(self) -> String {
        use clap::ValueEnum;
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The value of the variable that the library in the program reads.
    pub fn variable(self) -> Result<(&'static str, OsString), Failure> {
        let places = places()?;
        let first = packed(&places);
        let (how, processors) = match self {
            Placement::OneSocket => {
                let socket = places.iter().find(|p| p.processor == first[0]).map(|p| p.package);
                let on_it = places.iter().filter(|place| Some(place.package) == socket);
                ("set", on_it.map(|place| place.processor).collect())
            }
            Placement::OneProcessor => ("set", vec![first[0]]),
            Placement::Packed => ("each", first),
            Placement::Spread => ("each", spread(&places)),
        };
        let list: Vec<String> = processors.iter().map(ToString::to_string).collect();
        Ok(("SYNCLINE_PLACE", format!("{how} {}", list.join(",")).into()))
    }
}

/// The hardware threads that may be used; at least one.
fn places() -> Result<Vec<Place>, Failure> {
    let topology = Topology::here().map_err(|e| Failure::new(RECORD_FAILED, e))?;
    match topology.threads.is_empty() {
        true => Err(Failure::message(RECORD_FAILED, "no processor may be used")),
        false => Ok(topology.threads),
    }
}

/// Socket by socket; within one first a hardware thread of each core, then the second ones.
fn packed(places: &[Place]) -> Vec<usize> {
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

/// The sockets in turn.
fn spread(places: &[Place]) -> Vec<usize> {
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

    /// Two sockets of two cores with two hardware threads each, numbered as Linux does.
    fn machine() -> Vec<Place> {
        let place = |processor: usize| Place {
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
