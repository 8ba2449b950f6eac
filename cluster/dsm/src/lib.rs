//! Shared memory over ranks, by page faults: coherence that every node decides by itself.
//!
//! So far this is the protocol alone: [`carina`] decides, as pure functions and lists of steps, what
//! a node does at a miss, a downgrade and a fence. No crate of this project runs it on memory yet;
//! `tests/carina` runs it on a simulated network, against a sequentially consistent oracle, before
//! anything is built on it.
//!
//! Responsible for: who is told of what, what is kept, what goes home, and in which order.
//! Not for: page faults, transport, locks and barriers, allocation, what happens when a node dies.
//! A program that uses it must have no data races.
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
