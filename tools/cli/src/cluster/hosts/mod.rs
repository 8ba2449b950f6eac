//! Ranks on several machines.
//!
//! ```text
//!   file     the hosts file, and which ranks each host gets
//!   order    what an agent gets: which ranks to start, and how
//!   launch   starts an agent on each host, and watches them
//!   agent    `syncline cluster-agent`, which `launch` starts
//! ```
//!
//! An agent is started through a remote shell, such as `ssh`. It prints how it can be reached, and
//! gets its order on its standard input. What follows on its standard input belongs to rank 0, and
//! what the ranks print comes through the remote shell. Everything else goes over connections of
//! [`machines`](syncline_fabric::machines): if this process ends, the agents notice it, and end their
//! ranks.

pub mod agent;
mod file;
mod launch;
mod order;

pub use file::read;
pub use launch::launch;
