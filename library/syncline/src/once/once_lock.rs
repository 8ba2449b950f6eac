//! A value that is written once.

use core::fmt;
use core::mem::MaybeUninit;

use super::raw::{FRESH, RawOnce};
use crate::memory::{Data, Memory, Native};

/// The value's data in native memory, which can be made in a `static`.
type Value<T> = <Native as Memory>::Data<MaybeUninit<T>>;

/// A cell for a value that is written once, by the thread that comes first.
///
/// ```
/// use syncline::OnceLock;
///
/// static NAME: OnceLock<String> = OnceLock::new();
///
/// assert_eq!(NAME.get(), None);
/// assert_eq!(NAME.get_or_init(|| "first".to_owned()), "first");
/// assert_eq!(NAME.set("second".to_owned()), Err("second".to_owned()));
/// ```
///
/// A thread that sees the value sees all that was done before it was written (Acquire and Release
/// ordering). If a function panics, the cell stays empty, and the next call tries again. A function
/// that accesses the cell that it initializes waits for itself forever.
pub struct OnceLock<T, M: Memory = Native> {
    once: RawOnce<M>,
    value: M::Data<MaybeUninit<T>>,
}

// SAFETY: one thread writes the value, other threads read it, and yet another may drop it.
unsafe impl<T: Send + Sync, M: Memory> Sync for OnceLock<T, M> {}
// SAFETY: it owns its value.
unsafe impl<T: Send, M: Memory> Send for OnceLock<T, M> {}

impl<T> OnceLock<T> {
    /// An empty cell, in native memory. In other memories use `Default`.
    pub const fn new() -> Self {
        Self { once: RawOnce::new(), value: Value::<T>::new(MaybeUninit::uninit()) }
    }
}

impl<T, M: Memory> OnceLock<T, M> {
    /// The value, if it has been written.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: the cell is complete, so the write of the value happened before this.
        self.once.is_completed().then(|| unsafe { self.written() })
    }

    /// A mutable reference to the value, if the value has been written.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: the cell is complete, and no other thread has it.
        self.once
            .is_completed()
            .then(|| unsafe { self.value.with(|value| (*value).assume_init_mut()) })
    }

    /// The value. If there is none yet, the function makes it; if another thread is making it, the
    /// call waits for that thread.
    ///
    /// # Panics
    ///
    /// Panics if the function does.
    #[inline]
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if !self.once.is_completed() {
            self.once.call(true, FRESH, |_| {
                let made = make();
                // SAFETY: one thread at a time runs this closure, and no thread reads the value
                // before it has returned.
                unsafe { self.value.with(|value| _ = (*value).write(made)) };
            });
        }
        // SAFETY: the call has written the value, or waited until it was written.
        unsafe { self.written() }
    }

    /// Writes the value.
    ///
    /// # Errors
    ///
    /// The value that was passed, if the cell already has one.
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("it is called once"));
        value.map_or(Ok(()), Err)
    }

    /// Waits until there is a value, and returns it.
    pub fn wait(&self) -> &T {
        self.once.wait(true);
        // SAFETY: the wait is over when the value is written.
        unsafe { self.written() }
    }

    /// Takes the value out, and leaves the cell empty.
    pub fn take(&mut self) -> Option<T> {
        if !self.once.is_completed() {
            return None;
        }
        self.once = RawOnce::default();
        // SAFETY: the cell was complete, and is no longer: the value is read out once.
        Some(unsafe { self.value.with(|value| (*value).assume_init_read()) })
    }

    /// The value, if it has been written.
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// The value.
    ///
    /// # Safety
    ///
    /// The write of the value happened before this call.
    #[inline]
    unsafe fn written(&self) -> &T {
        // SAFETY: our caller's promise; it changes only through exclusive references.
        unsafe { self.value.look(|value| (*value).assume_init_ref()) }
    }
}

impl<T, M: Memory> Default for OnceLock<T, M> {
    fn default() -> Self {
        Self { once: RawOnce::default(), value: Data::new(MaybeUninit::uninit()) }
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        let cell = Self::new();
        cell.get_or_init(|| value);
        cell
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> Self {
        self.get().cloned().map_or_else(Self::new, Self::from)
    }
}

impl<T: PartialEq, M: Memory> PartialEq for OnceLock<T, M> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq, M: Memory> Eq for OnceLock<T, M> {}

impl<T: fmt::Debug, M: Memory> fmt::Debug for OnceLock<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => text.field(value),
            None => text.field(&format_args!("<uninit>")),
        };
        text.finish()
    }
}

impl<T, M: Memory> Drop for OnceLock<T, M> {
    fn drop(&mut self) {
        drop(self.take());
    }
}
