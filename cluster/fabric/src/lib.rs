//! One-sided memory between ranks: each has a part that all others read and change without its help.
//!
//! ```text
//!   fabric      the trait: put, get, compare-and-swap, fetch-and-op, flush; what they promise
//!   heap        blocks of a part, taken and given back by any rank
//!   here        the trait of fabrics on which running code finds its rank by itself
//!   process     whether a rank's process lives
//!   host        ranks of one machine, processes or threads, over a shared mapping
//!   server      messages between processes, and a thread that answers them
//!   simulated   ranks as coroutines of one thread: delays, queues at ports, reordering, deaths
//!   window      a memory of the lock library: the catalogue's locks over a fabric's words
//! ```
//!
//! The structures on a fabric (the hash table, shared memory, locks) are written once over
//! [`Fabric`], checked on [`Simulated`], and run on [`Host`]. There is no fabric over MPI or over a
//! network yet.
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

mod fabric;
mod heap;
mod here;
pub mod host;
mod process;
pub mod server;
pub mod simulated;
mod window;

pub use fabric::{Change, Dead, Fabric, Position};
pub use heap::{Full, Heap};
pub use here::Here;
pub use host::Host;
pub use process::Process;
pub use simulated::Simulated;
pub use window::{Distance, Region, Window, WindowData, WindowLink, WindowWord};

/// The example of the crate's page runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
