//! Which threads hold a lock, and which wait for one. Only debug builds with `std` note both.
//! There, a thread panics if it would wait for itself, or for threads that wait for it. This module
//! also has a number for each thread.

#[cfg(all(debug_assertions, feature = "std"))]
mod cycle;
#[cfg(all(debug_assertions, feature = "std"))]
mod lock;
mod mode;
#[cfg(all(debug_assertions, feature = "std"))]
mod noted;
#[cfg(all(debug_assertions, feature = "std"))]
mod notes;
#[cfg(feature = "std")]
mod number;
#[cfg(not(all(debug_assertions, feature = "std")))]
mod unnoted;

#[cfg(all(debug_assertions, feature = "std"))]
pub(crate) use lock::{Named, Owner};
pub(crate) use mode::Mode;
#[cfg(all(debug_assertions, feature = "std"))]
pub(crate) use noted::Waiting;
#[cfg(feature = "std")]
pub(crate) use number::{is_this_thread, this_thread};
#[cfg(not(all(debug_assertions, feature = "std")))]
pub(crate) use unnoted::{Named, Owner, Waiting};
