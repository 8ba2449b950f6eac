//! Mutexes: the layout of a replaced mutex, and the behaviour that POSIX requires of each kind,
//! implemented over any lock.

mod general;
mod layout;
mod ops;
pub mod plain;
pub mod real;
mod spinning;
mod until;

pub use layout::{Kind, Mutex};
pub use ops::Ops;
pub use until::{NEVER, Polled, Timed, Until, poll};
