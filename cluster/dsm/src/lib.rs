//! Shared memory over ranks, by page faults, with coherence that every node decides for itself.
//!
//! [`carina`] decides, as pure functions and lists of steps, what a node does at a miss, a
//! downgrade and a fence. [`node`] performs these steps on copies of pages over a fabric.
//! [`program`] makes a process a rank, whose page faults are a node's misses. `tests/carina` runs
//! the protocol alone on a simulated network, and `tests/nodes` runs the nodes' own code; each
//! compares with a sequentially consistent oracle.
//!
//! Responsible for: which nodes get which notices, what is kept, and what goes home in which order;
//! a program's page faults, locks, barriers and allocation. Not for: transport, which is a
//! fabric's. A program that uses it must have no data races.
//!
//! Source: Kaxiras et al., "Turning Centralized Coherence and Distributed Critical-Section Execution
//! on their Head" (HPDC'15), sections 3 and 4.

mod c;
pub mod carina;
pub mod homes;
pub mod node;
pub mod pages;
pub mod program;
pub mod pyxis;
pub mod shape;
pub mod vela;
