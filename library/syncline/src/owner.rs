//! The thread that holds a lock, and the line that acquired it. They are noted in debug builds with
//! `std` only, so that a thread that locks again what it holds panics instead of waiting for itself
//! forever. Also here: a number for each thread.

#[cfg(all(debug_assertions, feature = "std"))]
mod noted;
#[cfg(feature = "std")]
mod number;
#[cfg(not(all(debug_assertions, feature = "std")))]
mod unnoted;

#[cfg(all(debug_assertions, feature = "std"))]
pub(crate) use noted::Owner;
#[cfg(feature = "std")]
pub(crate) use number::{is_this_thread, this_thread};
#[cfg(not(all(debug_assertions, feature = "std")))]
pub(crate) use unnoted::Owner;
