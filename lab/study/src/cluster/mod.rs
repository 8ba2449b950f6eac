//! Programs on distributed shared memory, on simulated clusters.
//!
//! ```text
//!   programs   what the paper's programs access between two synchronizations, and their work
//!   marks      pages of which only the state is kept, not the bytes
//!   run        a program on a number of nodes
//! ```
//!
//! The nodes run the same code as real processes (`syncline_dsm::node`: Carina, Pyxis, homes,
//! cache, write buffer, Vela's barrier), on a simulated fabric. The network, the program and the
//! page faults are simulated. A node is one rank. As in the paper's prototype, only one thread of a
//! node at a time uses the network. So a node's misses follow each other, and its threads compute
//! after them.
//!
//! Not simulated: computing never overlaps with misses; homes serve at once, no matter what else
//! they do; the network has no switches, so only the ports at its ends are congested.
//!
//! Source: Kaxiras et al., "Turning Centralized Coherence and Distributed Critical-Section Execution on
//! their Head" (HPDC'15), section 5.

mod marks;
pub mod programs;
mod run;

pub use run::{Cluster, Outcome, run};
