//! A hash table over the memories of many ranks.
//!
//! ```text
//!   operations  what a table does: get, with, contains, put, remove, update, resize
//!   table       the table as each rank opens it
//!   layout      what the words of a rank's part mean
//!   key         a key's rank, bucket and tag
//!   entry       a key and its value in a block
//!   look        looking a key up between two reads of a bucket's version
//!   change      reading and changing a key's value
//!   held        holding a bucket, and taking one over from a rank that died
//!   wait        waiting for a bucket's holder
//!   split       splitting a bucket
//!   rows        where the buckets are
//!   local       iterating over one rank's part
//!   lost        which keys are lost
//!   mode        the fine mode, and the coarse mode with a window lock for each part
//!   error       why an operation failed
//! ```
//!
//! The table is written once over [`Fabric`](syncline_fabric::Fabric). The table is checked on
//! simulated ranks that die, and runs on ranks of one machine.
//!
//! ```
//! use syncline_dht::{Options, Table};
//! use syncline_fabric::Host;
//!
//! // Four threads as ranks; `Host::launch` starts processes.
//! let found = Host::threads(4, 1 << 20, |host| {
//!     let table = Table::open(host, Options::default())?;
//!     table.put(b"answer", b"42")?;
//!     table.get(b"answer")
//! });
//! for answer in found.unwrap() {
//!     assert_eq!(answer?.as_deref(), Some(&b"42"[..]));
//! }
//! # Ok::<(), syncline_dht::Error>(())
//! ```

mod change;
mod entry;
mod error;
mod held;
mod key;
mod layout;
mod local;
mod look;
mod lost;
mod mode;
mod operations;
mod rows;
mod split;
mod table;
mod wait;

pub use error::Error;
pub use local::{Entries, Entry};
pub use lost::Lost;
pub use mode::{Coarse, Fine, Mode};
pub use table::{Options, Table};

/// The examples of the crate's page and of the book's page compile.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/dht.md")]
    struct Book;
}
