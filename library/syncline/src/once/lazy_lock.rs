//! A value that is initialized on its first access.

use core::fmt;
use core::ops::Deref;

use super::once_lock::OnceLock;
use crate::memory::{Data, Memory, Native};

/// The function's data in native memory, which can be made in a `static`.
type Function<F> = <Native as Memory>::Data<Option<F>>;

/// A value that is initialized by the thread that accesses it first.
///
/// ```
/// use std::collections::HashMap;
/// use syncline::LazyLock;
///
/// static CODES: LazyLock<HashMap<&str, u32>> = LazyLock::new(|| HashMap::from([("ok", 200)]));
///
/// assert_eq!(CODES["ok"], 200);
/// ```
///
/// Orderings are those of [`OnceLock`]. If the function panics, there will be no value, and each
/// access panics.
pub struct LazyLock<T, F = fn() -> T, M: Memory = Native> {
    value: OnceLock<T, M>,
    /// The function; `None` after it has been called. Only the thread that makes the value uses
    /// this field.
    make: M::Data<Option<F>>,
}

// SAFETY: one thread calls the function, and the value is shared as in a `OnceLock`.
unsafe impl<T: Send + Sync, F: Send, M: Memory> Sync for LazyLock<T, F, M> {}
// SAFETY: it owns its value and its function.
unsafe impl<T: Send, F: Send, M: Memory> Send for LazyLock<T, F, M> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// A value that this function makes, in native memory.
    pub const fn new(make: F) -> Self {
        Self { value: OnceLock::new(), make: Function::<F>::new(Some(make)) }
    }
}

impl<T, F: FnOnce() -> T, M: Memory> LazyLock<T, F, M> {
    /// Like [`new`](LazyLock::new), in any memory.
    pub fn in_memory(make: F) -> Self {
        Self { value: OnceLock::default(), make: Data::new(Some(make)) }
    }

    /// The value, which is made now if there is none yet.
    ///
    /// # Panics
    ///
    /// Panics if the function does, or has done so before.
    #[inline]
    pub fn force(this: &Self) -> &T {
        this.value.get_or_init(|| {
            // SAFETY: one thread at a time runs this closure, each run after the one before.
            let make = unsafe { this.make.with(|make| (*make).take()) };
            make.expect("the function of a lazy value has panicked before")()
        })
    }
}

impl<T, F: FnOnce() -> T, M: Memory> Deref for LazyLock<T, F, M> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        Self::force(self)
    }
}

/// A lazy value that `T::default` makes.
impl<T: Default> Default for LazyLock<T> {
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<T: fmt::Debug, F, M: Memory> fmt::Debug for LazyLock<T, F, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_tuple("LazyLock");
        match self.value.get() {
            Some(value) => text.field(value),
            None => text.field(&format_args!("<uninit>")),
        };
        text.finish()
    }
}
