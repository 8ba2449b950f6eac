//! Ranks as coroutines of one thread, on a network that is simulated. One seed gives one run, bit
//! for bit.
//!
//! ```text
//!   network     how long what takes
//!   simulation  what is simulated
//!   operation   what is on its way, and what it does to a part when it takes effect
//!   engine      events in the order of simulated time; ports, delays, deaths
//!   context     which simulation the running code is in
//!   rank        a fabric's operations, as requests to the engine
//!   run         ranks as coroutines
//! ```
//!
//! An operation leaves by its rank's port, travels for a time that chance adds to, and is served at
//! its target's port, each port one at a time. Nothing keeps two operations in order but that a rank
//! waits for the first: puts overtake each other and all else, between different pairs of ranks and
//! within one, as one-sided MPI allows. What is longer than a word takes effect in pieces, with time
//! between. What a rank does beside its operations takes no time.
//!
//! A rank dies in the middle of one of its operations: it runs no further, not even its destructors;
//! its part is gone; of what it had on the way some takes effect, some never will. The others learn
//! of it when all that is decided.
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
