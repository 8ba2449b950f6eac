//! Shared memory over ranks, by page faults: coherence that every node decides by itself.
//!
//! [`carina`] decides, as pure functions and lists of steps, what a node does at a miss, a downgrade and
//! a fence; [`node`] performs it on copies of pages over a fabric; [`program`] makes a process a rank,
//! whose page faults are a node's misses. `tests/carina` runs the protocol alone on a simulated
//! network, `tests/nodes` the nodes' own text, each against a sequentially consistent oracle.
//!
//! Responsible for: which node is told of what, what is kept, what goes home and in which order;
//! page faults, locks, barriers and allocation of a program. Not for: transport, which is a
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
