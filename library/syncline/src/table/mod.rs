//! Hash tables that threads share.
//!
//! | table | keys and values | what it is for |
//! |---|---|---|
//! | [`Table`] | any types; entries in nodes of their own | what most programs want |
//! | [`FlatTable`] | types that can be copied; entries in the buckets themselves | like [`Table`], but quicker and smaller |
//! | [`LockTable`] | 64-bit keys, any values | SSYNC's table: a lock of the catalogue for each bucket; over any memory |
//! | [`ServedTable`] | 64-bit keys, any values | SSYNC's table, each part owned by a server to which other threads send requests |
//!
//! `docs/table.md` says which table to use when, and has measurements.

#[cfg(all(feature = "growing", target_has_atomic = "64"))]
mod growing;
#[doc(hidden)]
pub mod keys;
mod lock_table;
mod served_table;
mod shelf;

#[cfg(all(feature = "growing", target_has_atomic = "64"))]
pub use growing::{
    Boxed, Buckets, Entry, Flat, FlatTable, HashTable, Head, Iter, Ref, Storage, Table,
};
#[cfg(all(feature = "growing", target_has_atomic = "64"))]
#[doc(hidden)]
pub use growing::{Keep, version};
pub use lock_table::LockTable;
pub use served_table::{ServedTable, TableClient, TablePart, TableServer};
