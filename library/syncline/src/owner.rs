//! Which threads hold a lock, and which wait for one. Both are noted in debug builds with `std`
//! only, so that a thread panics instead of waiting for itself forever, or for threads that wait
//! for it. Also here: a number for each thread.

#[cfg(all(debug_assertions, feature = "std"))]
mod cycle;
#[cfg(all(debug_assertions, feature = "std"))]
mod noted;
#[cfg(all(debug_assertions, feature = "std"))]
mod notes;
#[cfg(feature = "std")]
mod number;
#[cfg(not(all(debug_assertions, feature = "std")))]
mod unnoted;

#[cfg(all(debug_assertions, feature = "std"))]
pub(crate) use noted::{Named, Owner};
#[cfg(feature = "std")]
pub(crate) use number::{is_this_thread, this_thread};
#[cfg(not(all(debug_assertions, feature = "std")))]
pub(crate) use unnoted::{Named, Owner};

/// How a lock is held, or what a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// By one thread alone.
    Alone,
    /// Together with other readers.
    Shared,
    /// By the one reader that may become the writer.
    Upgradable,
    /// By one thread alone, which has the upgradable share already: only waited for.
    Upgraded,
}
