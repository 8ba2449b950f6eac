//! Ranks as coroutines of one thread, on a simulated network. A seed determines the whole run.
//!
//! ```text
//!   network     latencies, bandwidth, random delays
//!   simulation  the parameters of a simulation
//!   operation   an operation on its way, and its effect on a part
//!   engine      events in the order of simulated time; ports, delays, deaths
//!   context     finds the simulation that the running code is part of
//!   rank        a fabric's operations, as requests to the engine
//!   run         runs the ranks as coroutines
//! ```
//!
//! An operation leaves through its rank's port, travels for a partly random time, and is served at
//! its target's port. Each port serves one operation at a time in each direction. Two operations
//! are ordered only if a rank waits for the first one. As one-sided MPI allows, a put can overtake
//! any other operation, even one between the same two ranks. Data that is longer than a word may
//! take effect in pieces, with time between them. Everything else that a rank does takes no time.
//!
//! A rank dies in the middle of one of its operations. A dead rank does not run any more, not even
//! its destructors, and its part is lost. Some of its operations that are on their way take effect,
//! and others never will. The other ranks learn of the death when no operation of the dead rank is
//! on its way any more.
//!
//! ```
//! use syncline_fabric::{Fabric, Position, simulated::Simulation};
//!
//! let outcome = Simulation::new(64, 4096, 1).run(|fabric| {
//!     fabric.add(Position { rank: 0, at: 0 }, 1).unwrap()
//! });
//! let mut turns: Vec<u64> = outcome.results.into_iter().flatten().collect();
//! turns.sort();
//! assert!(turns.into_iter().eq(0..64));
//! ```

mod context;
mod engine;
mod network;
mod operation;
mod rank;
mod run;
mod simulation;

pub use network::Network;
pub use rank::Simulated;
pub use run::Outcome;
pub use simulation::Simulation;
