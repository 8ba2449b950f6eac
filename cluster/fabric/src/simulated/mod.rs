//! Ranks as coroutines of one thread, on a simulated network. One seed gives one run, bit for bit.
//!
//! ```text
//!   network     latencies, bandwidth, random delays
//!   simulation  the parameters of a simulation
//!   operation   an operation on its way, and its effect on a part
//!   engine      events in the order of simulated time; ports, delays, deaths
//!   context     which simulation the running code is in
//!   rank        a fabric's operations, as requests to the engine
//!   run         ranks as coroutines
//! ```
//!
//! An operation leaves through its rank's port, travels for a partly random time, and is served at
//! its target's port; each port serves one operation at a time in each direction. Two operations
//! are ordered only if a rank waits for the first. Puts overtake each other and all other
//! operations, between different pairs of ranks and within one, as one-sided MPI allows. Data
//! longer than a word takes effect in pieces, with time between them. Everything else that a rank
//! does takes no time.
//!
//! A rank dies in the middle of one of its operations. It runs no further, not even its
//! destructors, and its part is gone. Some of its operations that are on their way take effect, and
//! some never will. The other ranks learn of the death when it is decided which.
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
