//! Reader-writer locks.
//!
//! Only locks whose acquisitions carry nothing are put in place of these, since a thread may share
//! many at once, and POSIX' objects have no room for a node of each reader. A writer notes itself
//! as the owner, as in the C library, which shows whether a release is a writer's.
//!
//! An object may require by its attributes that waiting writers keep new readers out. Of the locks
//! in question those can do that whose writers wait in the lock itself, also until a deadline;
//! where another was chosen, such an object gets [`CompactRw`](syncline::lock::CompactRw) in its
//! stead.

mod layout;
mod ops;
pub mod real;
mod until;

pub use layout::Rwlock;
pub use ops::Ops;
pub use until::{Polled, Timed};
