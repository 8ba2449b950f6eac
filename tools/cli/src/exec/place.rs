//! The processors on which a program's threads run: `syncline exec --place`, and the placements
//! that `syncline try` tries.

use std::collections::BTreeSet;
use std::ffi::OsString;

use syncline_probe::topology::Topology;

use crate::failure::{Failure, RECORD_FAILED};

/// Where a program's threads run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Placement {
    /// All on one socket
    OneSocket,
    /// Each on its own processor, near each other; processors are shared when there are too few
    Packed,
    /// Each on its own processor, far from each other; processors are shared when there are too few
    Spread,
    /// All on one processor
    OneProcessor,
}

impl Placement {
    /// The placements that `syncline try` tries if the user names none: `Packed`, and also `Spread`
    /// and `OneSocket` if they differ from the others on this machine. The list is empty if the
    /// processors are unknown.
    pub fn different() -> Vec<Placement> {
        let Ok(topology) = topology() else { return Vec::new() };
        let sockets: BTreeSet<_> = topology.threads.iter().map(|t| t.package).collect();
        let mut all = vec![Placement::Packed];
        if topology.spread() != topology.packed() {
            all.push(Placement::Spread);
        }
        if sockets.len() > 1 {
            all.push(Placement::OneSocket);
        }
        all
    }

    /// The name on the command line.
    pub fn name(self) -> String {
        use clap::ValueEnum;
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The environment variable that the library in the program reads, with its value.
    pub fn variable(self) -> Result<(&'static str, OsString), Failure> {
        let topology = topology()?;
        let first = topology.packed();
        let (how, processors) = match self {
            Placement::OneSocket => {
                let threads = &topology.threads;
                let socket = threads.iter().find(|t| t.processor == first[0]).map(|t| t.package);
                let on_it = threads.iter().filter(|thread| Some(thread.package) == socket);
                ("set", on_it.map(|thread| thread.processor).collect())
            }
            Placement::OneProcessor => ("set", vec![first[0]]),
            Placement::Packed => ("each", first),
            Placement::Spread => ("each", topology.spread()),
        };
        let list: Vec<String> = processors.iter().map(ToString::to_string).collect();
        Ok(("SYNCLINE_PLACE", format!("{how} {}", list.join(",")).into()))
    }
}

/// The hardware threads that this process may use. There is at least one.
fn topology() -> Result<Topology, Failure> {
    let topology = Topology::here().map_err(|e| Failure::new(RECORD_FAILED, e))?;
    match topology.threads.is_empty() {
        true => Err(Failure::message(RECORD_FAILED, "this process may not use any processor")),
        false => Ok(topology),
    }
}
