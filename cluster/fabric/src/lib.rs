//! One-sided memory between ranks: each rank has a part, which all other ranks can read and change
//! without that rank's help.
//!
//! ```text
//!   fabric      the trait of all fabrics: put, get, compare-and-swap, fetch-and-op, flush
//!   available   how much memory this machine has left
//!   heap        blocks of memory in a part, which any rank can take and free
//!   here        the trait of fabrics on which code can find the rank that it runs in
//!   process     whether a rank's process is alive
//!   host        ranks on one machine, processes or threads, over a shared mapping
//!   machines    ranks on several machines: parts of other machines are reached over TCP
//!   say         prints a line on the standard error that the ranks share
//!   server      messages between processes, and a thread that answers them
//!   signals     runs code that signal handlers must not interrupt
//!   simulated   ranks as coroutines of one thread: delays, queues at ports, reordering, deaths
//!   window      memory for the lock library: runs the catalogue's locks on a fabric's words
//! ```
//!
//! The structures on a fabric (the hash table, shared memory, locks) are written once, over
//! [`Fabric`]. They are checked on [`Simulated`], and run on [`Host`] and [`Machines`]. There is no
//! fabric over MPI.
//!
//! ```
//! use syncline_fabric::{Fabric, Host, Position};
//!
//! // Four threads as ranks, each with a part of 4,096 bytes.
//! let sums = Host::threads(4, 4096, |fabric| {
//!     let counter = Position { rank: 0, at: 64 };
//!     fabric.add(counter, 1 + fabric.rank() as u64).unwrap();
//!     while fabric.load(counter).unwrap() != 10 {
//!         fabric.pause(counter, 20);
//!     }
//!     fabric.load(counter).unwrap()
//! });
//! assert_eq!(sums.unwrap(), [10; 4]);
//! ```

mod available;
mod fabric;
mod heap;
mod here;
pub mod host;
pub mod machines;
mod process;
mod say;
pub mod server;
mod signals;
pub mod simulated;
mod window;

pub use available::available_memory;
pub use fabric::{Change, Dead, Fabric, Operation, Position, Swap};
pub use heap::{Full, Heap};
pub use here::Here;
pub use host::Host;
pub use machines::Machines;
pub use process::{Process, end_with_parent};
pub use say::say;
pub use signals::{signals_are_blocked, without_signals};
pub use simulated::Simulated;
pub use window::{Distance, Region, Window, WindowData, WindowLink, WindowWord};

/// Runs the example on the crate's page as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
