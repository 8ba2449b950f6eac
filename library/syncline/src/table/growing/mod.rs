//! The tables that grow: [`Table`] and [`FlatTable`].
//!
//! 1. [`version`]: how readers read without writing, while writers write.
//! 2. `bucket`, `tags`: a bucket, over any memory that has blocks
//!    ([`Blocks`](crate::memory::Blocks)).
//! 3. `directory`, `rare`: all buckets, and how more are added.
//! 4. `held`: what a writer does to a bucket.
//! 5. `storage`, `reference`, `drain`: entries in buckets or in nodes, references to them, and how
//!    the last ones are dropped.
//! 6. `table`, `operations`, `entry`, `iter`: a table's operations, built from these.

mod bucket;
mod directory;
mod drain;
mod entry;
mod held;
mod iter;
mod operations;
mod rare;
mod reference;
mod storage;
mod table;
mod tags;
#[doc(hidden)]
pub mod version;

pub use bucket::{Buckets, Head};
pub use entry::Entry;
pub use iter::Iter;
pub use reference::Ref;
#[doc(hidden)]
pub use storage::Keep;
pub use storage::{Boxed, Flat, Storage};
pub use table::{FlatTable, HashTable, Table};
