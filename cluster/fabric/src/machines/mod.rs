//! Ranks on several machines. Ranks of one machine share a mapping, as on [`Host`](crate::Host). The
//! parts of other machines are reached over the network.
//!
//! ```text
//!   map      which ranks each machine has, and how to reach it
//!   wire     requests, as bytes
//!   agent    a machine's agent: starts the machine's ranks, and serves their parts to others
//!   serve    answers the requests of one connection
//!   poll     waits for bytes of a connection
//!   link     the calling side: a rank's connection to another machine
//!   rank     the operations of a rank
//!   job      the launcher's view of all ranks
//!   pretend  several machines that are all this one, for tests
//! ```
//!
//! On each machine, a process that is no rank, the *agent*, maps the ranks' parts too. It answers the
//! requests of other machines with the processor's instructions, as the machine's ranks use them. So
//! a word's changes are atomic, no matter which machine makes them, and a rank's memory can be
//! reached no matter what the rank does, and also after it has ended.
//!
//! A rank has one TCP connection to each other machine. The agent handles the requests of a
//! connection in order. Puts are collected, and are sent when they fill a buffer or when the rank
//! asks for something. So a flush after many short puts takes a single round trip. Every load or
//! change of another machine's word takes one, too.
//!
//! The network has to be trusted, as is usual with MPI: only who knows a random number is served, but
//! nothing is encrypted.

mod agent;
mod job;
mod link;
mod map;
mod poll;
mod pretend;
mod rank;
mod serve;
mod wire;

pub use crate::server::{CARD, Card};
pub use agent::Agent;
pub use job::{Job, Lost};
pub use map::{Machine, Map};
pub use pretend::pretend;
pub use rank::{Error, Machines};
