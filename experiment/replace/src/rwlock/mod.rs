//! Reader-writer locks.
//!
//! Only locks whose acquisitions need no node can replace these: a thread may share many at once,
//! and POSIX' objects have no room for a node of each reader. As in the C library, a writer is
//! noted as the owner, so that a release knows whether it is a writer's.
//!
//! The attributes of an object may require that waiting writers keep new readers out. Only locks
//! whose writers wait in the lock itself, even with a deadline, can do that. If another lock was
//! chosen, such an object gets [`CompactRw`](syncline::lock::CompactRw) instead.

mod layout;
mod ops;
pub mod real;
mod until;

pub use layout::Rwlock;
pub use ops::Ops;
pub use until::{Polled, Timed};
