//! Locks, each written once, generic over a [`memory`].
//!
//! An algorithm here reads as in a textbook: its shared words, its acquisition, its release. A type
//! parameter, the [`Memory`](memory::Memory), decides what a word is and where it lives: in the
//! processor's own memory ([`Native`](memory::Native)), in a model checker's, or in a simulated
//! machine's. Another type parameter, the [`Wait`](wait::Wait), decides how a thread waits: by
//! spinning, yielding, or parking in the kernel. So the text that is checked exhaustively is the
//! text that is shipped.
//!
//! ```
//! use syncline::lock::Ticket;
//! use syncline::{Mutex, RwLock};
//!
//! static HITS: Mutex<u64> = Mutex::new(0); // the default lock
//! static LOG: Mutex<Vec<u8>, Ticket> = Mutex::with_lock(Vec::new()); // another lock, by its type
//! static NAMES: RwLock<Vec<&str>> = RwLock::new(Vec::new());
//!
//! *HITS.lock() += 1;
//! LOG.lock().push(b'x');
//! NAMES.write().push("Ada");
//! assert_eq!(NAMES.read().len(), 1);
//! ```
//!
//! [`Mutex`] and [`RwLock`] put a value under a lock, the default one or another. The module
//! [`lock`] has the locks and their catalogue. [`Condvar`], [`Once`], [`OnceLock`], [`LazyLock`],
//! [`Barrier`] and `ReentrantMutex` complete what the standard library and parking_lot have, under
//! the same names; `docs/familiar.md` lists the differences and their reasons. `stm` has
//! transactions, which need no lock. The other areas are `channel`, `delegation`, `table` and
//! `window`. Each area is behind a feature of the same name.
//!
//! Waiters that [park](wait::Park) sleep with the kernel's futex on Linux, and with the standard
//! library's means on other systems. On other systems without the feature `std`, waiters spin, and
//! the clock stands still, so a wait with a timeout above zero never gives up. On WebAssembly with
//! threads the tables that grow can't be built.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod barrier;
#[cfg(feature = "channel")]
pub mod channel;
mod condvar;
mod deadline;
#[cfg(feature = "delegation")]
pub mod delegation;
pub mod lock;
#[cfg(any(feature = "lock_api", feature = "lock_api_0_4"))]
pub mod lock_api;
mod mapped;
pub mod memory;
mod mutex;
pub mod once;
mod owner;
#[cfg(feature = "std")]
mod reentrant;
mod rwlock;
#[cfg(feature = "serde")]
mod serialized;
#[cfg(all(feature = "stm", target_has_atomic = "64"))]
pub mod stm;
#[cfg(feature = "table")]
pub mod table;
pub mod wait;
mod watched;
#[cfg(feature = "window")]
pub mod window;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use deadline::Deadline;
pub use mapped::{MappedMutexGuard, MappedRwLockWriteGuard};
pub use mutex::{ArcMutexGuard, Mutex, MutexGuard};
pub use once::{LazyLock, Once, OnceLock, OnceState};
#[cfg(feature = "std")]
pub use reentrant::{ReentrantMutex, ReentrantMutexGuard};
pub use rwlock::{ArcRwLockReadGuard, ArcRwLockWriteGuard, MappedRwLockReadGuard};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard};

/// The pages whose examples run as tests: the crate's README and pages of the book.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/library.md")]
    struct Library;
    #[doc = include_str!("../../../docs/familiar.md")]
    struct Familiar;
    #[doc = include_str!("../../../docs/channels.md")]
    struct Channels;
    #[doc = include_str!("../../../docs/table.md")]
    struct Tables;
    #[doc = include_str!("../../../docs/transactions.md")]
    struct Transactions;
}
