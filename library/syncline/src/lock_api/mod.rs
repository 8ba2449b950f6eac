//! The traits of the `lock_api` crate. Code that is written for that crate can use the locks
//! through these traits.
//!
//! [`Raw`] turns a lock of the catalogue into a `lock_api::RawMutex` if the lock can be tried, and
//! also into a `lock_api::RawRwLock` if it can be shared. The feature `lock_api` has the traits of
//! version 0.5, whose guards carry the queue node. The feature `lock_api_0_4` has those of version
//! 0.4, which parking_lot 0.12 and dashmap use. The guards of version 0.4 carry nothing, so only
//! locks without a node have these traits. Both features may be on at once.
//!
//! ```
//! # #[cfg(feature = "lock_api")] {
//! use syncline::lock::Ticket;
//! use syncline::lock_api::Raw;
//!
//! static TOTAL: lock_api::Mutex<Raw<Ticket>, u64> = lock_api::Mutex::new(0);
//! *TOTAL.lock() += 1;
//! # }
//! ```
//!
//! For a crate that is written for parking_lot's `RawMutex` and `RawRwLock`, use the types of the
//! same names in this module instead.

mod raw;
#[cfg(feature = "lock_api_0_4")]
mod v0_4;
#[cfg(feature = "lock_api")]
mod v0_5;

pub use raw::Raw;
#[cfg(feature = "lock_api")]
pub use v0_5::{Node, NodeOf, SharedNodeOf};

use crate::lock::{GatedClh, Upgradable};

/// The default mutex's lock, under parking_lot's name.
pub type RawMutex = Raw<GatedClh>;
/// A reader-writer lock that can do all that parking_lot's can, except for fair and recursive
/// acquisitions. Without upgradable reads, `Raw<CompactRw>` has faster writers.
pub type RawRwLock = Raw<Upgradable>;
