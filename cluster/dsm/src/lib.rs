//! Distributed shared memory: ranks share memory by page faults, and every node decides about
//! coherence for itself.
//!
//! [`carina`] decides, as pure functions and lists of steps, what a node does at a miss, at a
//! downgrade and at a fence. [`node`] performs these steps on copies of pages, over a fabric.
//! [`program`] makes a process a rank, and the process's page faults become its node's misses.
//! `tests/carina` runs the protocol alone on a simulated network, and `tests/nodes` runs the nodes'
//! own code. Both compare the results with a sequentially consistent oracle.
//!
//! This crate decides which nodes get which notices, which lines are kept, and what is sent home in
//! which order. It also handles a program's page faults, locks, barriers and allocations. Transport
//! is the fabric's task. A program on this memory must have no data races.
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
