//! A value under a delegation lock.

use core::fmt;
use core::mem::MaybeUninit;
use core::ptr;

use bytemuck::Zeroable;

use super::frame::Frame;
use super::inside::expect_outside;
use super::pending::Pending;
use super::qd::Qd;
use super::raw::RawDelegation;
use super::request::{Request, Task};
use crate::memory::{Data, Memory, Native};

/// A value that one section at a time can reach, under the delegation lock `D`.
///
/// The [module's documentation](super) says which thread runs a section, in which order, and what
/// happens if it panics.
///
/// ```
/// use std::thread;
/// use syncline::delegation::Delegated;
///
/// let sum = Delegated::<u64>::new(0);
/// thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| sum.with(|sum| *sum += 1));
///     }
/// });
/// assert_eq!(sum.into_inner(), 4);
/// ```
pub struct Delegated<T, D: RawDelegation = Qd> {
    lock: D,
    value: <D::Memory as Memory>::Data<T>,
}

// SAFETY: the lock lets one section at a time reach the value, which moves between threads that
// way.
unsafe impl<T: Send, D: RawDelegation> Sync for Delegated<T, D> {}
// SAFETY: it owns its value.
unsafe impl<T: Send, D: RawDelegation> Send for Delegated<T, D> {}

impl<T, D: RawDelegation<Memory = Native> + Zeroable> Delegated<T, D> {
    /// A free lock with this value under it, in native memory. In other memories use
    /// `Delegated::from`.
    pub const fn new(value: T) -> Self {
        // SAFETY: a lock whose bytes are all zero is a free lock.
        let lock = unsafe { MaybeUninit::zeroed().assume_init() };
        Self { lock, value: <<Native as Memory>::Data<T>>::new(value) }
    }
}

impl<T, D: RawDelegation> From<T> for Delegated<T, D> {
    fn from(value: T) -> Self {
        Self { lock: D::default(), value: Data::new(value) }
    }
}

impl<T: Default, D: RawDelegation> Default for Delegated<T, D> {
    fn default() -> Self {
        Self::from(T::default())
    }
}

impl<T, D: RawDelegation> Delegated<T, D> {
    /// A value under this lock.
    pub fn from_raw(lock: D, value: T) -> Self {
        Self { lock, value: Data::new(value) }
    }

    /// Runs a section, in this thread or by a helper, waits for it, and returns its result.
    ///
    /// The section may borrow from the caller. The call allocates nothing for the section.
    ///
    /// # Panics
    ///
    /// If the section panics. In debug builds with the feature `std`, also if this is called by a
    /// section of this lock.
    #[inline]
    #[track_caller]
    pub fn with<R: Send>(&self, section: impl FnOnce(&mut T) -> R + Send) -> R {
        expect_outside(&raw const self.value);
        let frame = Frame::<T, _, R, D::Memory>::new(&self.value, section);
        let request = Request::new(attached(&frame));
        // SAFETY: both stay on this stack until `run` returns.
        unsafe { self.lock.run(&request) };
        frame.into_outcome().unwrap_or_else(|panic| panic.resume())
    }

    /// Delegates a section, and returns at once in most cases. If the lock is free, this thread
    /// runs the section itself, and then those that others delegate meanwhile, up to the lock's
    /// limit. If the lock's queue is full or closed, or its helper has reached its limit, this
    /// thread waits.
    ///
    /// The section and its result are in a node of the memory's pool. The call allocates no more than
    /// that if neither the captured variables nor the result take more than about ten words.
    ///
    /// # Panics
    ///
    /// In debug builds with the feature `std`, if it is called by a section of this lock.
    #[inline]
    #[track_caller]
    pub fn delegate<R: Send + 'static>(
        &self,
        section: impl FnOnce(&mut T) -> R + Send + 'static,
    ) -> Pending<R, D> {
        expect_outside(&raw const self.value);
        let pending = Pending::new(&self.value, section);
        // SAFETY: the request stays until it is completed, and its result is taken or given up. The
        // value stays until all calls have returned, and so all sections have run.
        unsafe { self.lock.submit(pending.request()) };
        pending
    }

    /// The value. All sections have run by now.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

/// The task of a frame whose caller waits.
#[inline]
fn attached<T, F: FnOnce(&mut T) -> R, R, M: Memory>(frame: &Frame<T, F, R, M>) -> Task {
    unsafe fn run<T, F: FnOnce(&mut T) -> R, R, M: Memory>(frame: *const ()) {
        // SAFETY: it is the frame below, whose caller waits. The lock runs it once, alone.
        unsafe { (*frame.cast::<Frame<T, F, R, M>>()).run() };
    }
    Task { frame: ptr::from_ref(frame).cast(), run: run::<T, F, R, M>, discard: None }
}

impl<T, D: RawDelegation> fmt::Debug for Delegated<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delegated").finish_non_exhaustive()
    }
}
