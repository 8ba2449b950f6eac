//! Reader-writer locks.
//!
//! Only locks whose acquisitions need no node replace these, since a thread may share many at once,
//! and POSIX' objects have no room for a node of each reader. A writer notes itself as the owner,
//! as in the C library, which shows whether a release is a writer's.
//!
//! An object may require by its attributes that waiting writers keep new readers out. Of these
//! locks, those can do that whose writers wait in the lock itself, even with a deadline; if another
//! lock was chosen, such an object gets [`CompactRw`](syncline::lock::CompactRw) instead.

mod layout;
mod ops;
pub mod real;
mod until;

pub use layout::Rwlock;
pub use ops::Ops;
pub use until::{Polled, Timed};
