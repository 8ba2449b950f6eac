//! Initialization that happens once, by whichever thread comes first: [`Once`], [`OnceLock`],
//! [`LazyLock`].
//!
//! All three have a word with the state ([`raw`]); the latter two also have memory for the value.

mod lazy_lock;
mod once_lock;
#[doc(hidden)]
pub mod raw;

pub use lazy_lock::LazyLock;
pub use once_lock::OnceLock;
pub use raw::OnceState;

use core::fmt;

use crate::memory::{Memory, Native};
use raw::{POISONED, RawOnce};

/// Runs a function once, in the thread that comes first.
///
/// ```
/// use syncline::Once;
///
/// static SET_UP: Once = Once::new();
///
/// for _ in 0..3 {
///     SET_UP.call_once(|| println!("printed once"));
/// }
/// assert!(SET_UP.is_completed());
/// ```
///
/// A thread that comes while the function runs waits until the function has returned. All threads
/// see what the function did (Acquire and Release ordering). A function that calls its own `Once`
/// waits for itself forever.
///
/// If the function panics, the `Once` is *poisoned*: how much was done is unknown. Then
/// [`call_once`](Self::call_once) panics, and [`call_once_force`](Self::call_once_force) tries
/// again.
#[derive(Default)]
pub struct Once<M: Memory = Native>(RawOnce<M>);

impl Once {
    /// A `Once` whose function has not run yet, in native memory. In other memories use `Default`.
    pub const fn new() -> Self {
        Self(RawOnce::new())
    }
}

impl<M: Memory> Once<M> {
    /// Runs the function, or waits until another thread has run one. Acquire ordering.
    ///
    /// # Panics
    ///
    /// Panics if the function does, or if the `Once` is poisoned.
    #[inline]
    #[track_caller]
    pub fn call_once(&self, act: impl FnOnce()) {
        if !self.0.is_completed() {
            self.0.call(false, POISONED, |_| act());
        }
    }

    /// Runs the function, or waits until another thread has run one, even if an earlier function
    /// has panicked. The function's argument says whether one has. Acquire ordering.
    ///
    /// ```
    /// use std::panic::catch_unwind;
    /// use syncline::Once;
    ///
    /// static SET_UP: Once = Once::new();
    ///
    /// assert!(catch_unwind(|| SET_UP.call_once(|| panic!("no"))).is_err());
    /// SET_UP.call_once_force(|state| assert!(state.is_poisoned()));
    /// assert!(SET_UP.is_completed());
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the function does.
    #[inline]
    #[track_caller]
    pub fn call_once_force(&self, act: impl FnOnce(&OnceState)) {
        if !self.0.is_completed() {
            self.0.call(true, POISONED, act);
        }
    }

    /// Whether a function has returned. Acquire ordering.
    #[inline]
    pub fn is_completed(&self) -> bool {
        self.0.is_completed()
    }

    /// Waits until a function has returned. Acquire ordering.
    ///
    /// # Panics
    ///
    /// If the `Once` is poisoned.
    #[track_caller]
    pub fn wait(&self) {
        self.0.wait(false);
    }

    /// Waits until a function has returned, even if an earlier one has panicked and no thread tries
    /// again yet. Acquire ordering.
    pub fn wait_force(&self) {
        self.0.wait(true);
    }
}

impl<M: Memory> fmt::Debug for Once<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}
