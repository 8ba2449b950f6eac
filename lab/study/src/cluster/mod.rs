//! Programs on distributed shared memory, on clusters that are simulated.
//!
//! ```text
//!   programs   what the paper's programs touch between two synchronizations, and how long they compute
//!   marks      pages of which only the state is kept, and no bytes
//!   run        a program on so many nodes
//! ```
//!
//! The nodes run the text that processes run (`syncline_dsm::node`: Carina, Pyxis, homes, cache, write
//! buffer, Vela's barrier) on the simulated fabric. What is simulated is the network, the program and
//! the page faults. A node is one rank: as in the paper's prototype, one thread of a node at a time uses
//! the network, so its misses follow each other, and what its threads compute comes after them.
//!
//! Blind spots: computing never overlaps with misses; homes serve at once, whatever else they do; the
//! network has no switches, so that only the ports at its ends are congested.
//!
//! Source: Kaxiras et al., "Turning Centralized Coherence and Distributed Critical-Section Execution on
//! their Head" (HPDC'15), section 5.

mod marks;
pub mod programs;
mod run;

pub use run::{Cluster, Outcome, run};
