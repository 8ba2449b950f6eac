//! Argo's programs on distributed shared memory, on simulated clusters.
//!
//! ```text
//!   programs   the pages that the paper's programs access between synchronizations, and their work
//!   marks      pages that have a state but no stored bytes
//!   run        a program on a number of nodes
//! ```
//!
//! The nodes run the same code as real processes (`syncline_dsm::node`: Carina, Pyxis, homes,
//! cache, write buffer, Vela's barrier), on a simulated fabric. The network, the program and the
//! page faults are simulated. A node is one rank. As in the paper's prototype, only one thread of a
//! node at a time uses the network. So a node handles its misses one after another, and its threads
//! compute after all of them.
//!
//! Simplifications: computing never overlaps with misses; a home serves a request at once, no
//! matter what else it does; the network has no switches, so only the ports at its ends can be
//! congested.
//!
//! Source: Kaxiras et al., "Turning Centralized Coherence and Distributed Critical-Section
//! Execution on their Head" (HPDC'15), section 5.

mod marks;
pub mod programs;
mod run;

pub use run::{Cluster, Outcome, run};
