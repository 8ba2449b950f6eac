//! Deadlines: a time on a memory's clock or, in native memory, an `Instant`.
//!
//! An algorithm compares its deadline with [`Memory::now`], whatever clock that is: the clock of a
//! checker or of a simulated machine is not the system's. So an `Instant` is a deadline in native
//! memory only.

use core::time::Duration;

use crate::memory::Memory;

/// A moment until which a thread waits, for functions whose names end in `until`.
///
/// ```
/// use std::time::{Duration, Instant};
/// use syncline::Mutex;
/// use syncline::memory::{Memory, Native};
///
/// let (mutex, soon) = (Mutex::new(5), Duration::from_millis(5));
/// assert!(mutex.try_lock_until(Instant::now() + soon).is_some());
/// assert!(mutex.try_lock_until(Native::now() + soon).is_some());
/// ```
pub trait Deadline<M: Memory> {
    /// The moment on the memory's clock, [`Memory::now`].
    fn on_clock(self) -> Duration;
}

/// A time on the memory's clock.
impl<M: Memory> Deadline<M> for Duration {
    #[inline]
    fn on_clock(self) -> Duration {
        self
    }
}

/// A moment on the system's clock.
#[cfg(feature = "std")]
impl Deadline<crate::memory::Native> for std::time::Instant {
    fn on_clock(self) -> Duration {
        let left = self.saturating_duration_since(Self::now());
        after::<crate::memory::Native>(left)
    }
}

/// The deadline that is `patience` from now. A deadline beyond the clock's range is never reached.
pub(crate) fn after<M: Memory>(patience: Duration) -> Duration {
    M::now().saturating_add(patience)
}
