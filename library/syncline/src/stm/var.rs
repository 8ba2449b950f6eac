//! A variable for values of any type, which are shared and replaced, but never changed.
//!
//! Readers can't copy a value as words, since the value may be replaced at any moment. A writer
//! that replaces a value must not free the old one while others read it. So the value is in an
//! `Arc`, and a lock of one word is held while the `Arc` is exchanged or another reference to it is
//! made. So a read of a variable writes to the variable's line. A read of a
//! [`TCell`](super::TCell) doesn't.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::any::Any;
use core::fmt;
use core::mem::{replace, swap};
use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;

use super::engine::{Engine, foreign};
use super::guarded::Guarded;
use super::stop::Result;
use super::tx::Tx;
use super::writes::Install;
use crate::lock::Ttas;
use crate::memory::{Long, LongMemory, Native};
use crate::wait::Park;

/// A value of any type that transactions read and replace.
///
/// ```
/// use syncline::stm::{TVar, atomically};
///
/// let name = TVar::new(String::from("Ada"));
/// atomically(|tx| {
///     let longer = name.get(tx)? + " Lovelace";
///     name.set(tx, longer);
///     Ok(())
/// });
/// assert_eq!(name.into_inner(), "Ada Lovelace");
/// ```
///
/// Values are dropped after the transaction that has replaced them, by the thread that has the last
/// reference. If the drop panics, the panic leaves [`atomically`](super::atomically), and the
/// transaction has happened.
///
/// Some values are dropped within the transaction: copies that the closure gets, references that
/// the closure [shares](TVar::share), and values that the same transaction has set, if it replaces
/// them or takes them back by [`undo`](Tx::undo) or [`or_else`](Tx::or_else). So a destructor that
/// runs a transaction panics there, and the outer transaction changes nothing.
pub struct TVar<T, M: LongMemory = Native> {
    stamp: M::Long,
    value: Guarded<Arc<T>, Ttas<Park, M>>,
}

// SAFETY: values move between threads, and several threads may read one.
unsafe impl<T: Send + Sync, M: LongMemory> Sync for TVar<T, M> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync, M: LongMemory> Send for TVar<T, M> {}

impl<T: Send + Sync + 'static> TVar<T> {
    /// A variable of the [default engine](super::atomically).
    pub fn new(value: T) -> Self {
        Self::with_stamp(0, value)
    }
}

impl<T: Send + Sync + 'static, M: LongMemory> TVar<T, M> {
    fn with_stamp(fresh: u64, value: T) -> Self {
        let stamp = M::Long::default();
        // Relaxed: other threads get a reference to the variable through something that
        // synchronizes.
        stamp.store(fresh, Relaxed);
        Self { stamp, value: Guarded::new(Arc::new(value)) }
    }

    /// A variable of this engine.
    pub(super) fn of<E: Engine<Memory = M>>(engine: &E, value: T) -> Self {
        Self::with_stamp(engine.fresh_stamp(), value)
    }

    /// The value, as this transaction sees it, shared with the other threads that have read it.
    ///
    /// # Errors
    ///
    /// The attempt is over, since another transaction was in the way; pass the error on.
    ///
    /// # Panics
    ///
    /// If the variable belongs to another engine.
    pub fn share<'tx, E>(&'tx self, tx: &mut Tx<'tx, '_, E>) -> Result<Arc<T>>
    where
        E: Engine<Memory = M>,
    {
        let stamp = NonNull::from(&self.stamp);
        let load = || self.value.with(|value| Arc::clone(value));
        if E::in_place(&tx.parts.thread) {
            // SAFETY: the variable outlives the transaction.
            unsafe { tx.engine.wait_until_free(&mut tx.parts.thread, stamp) };
            return Ok(load());
        }
        if let Some(pending) = self.pending(tx) {
            return Ok(Arc::clone(&pending.value));
        }
        // SAFETY: the variable outlives the transaction.
        unsafe { tx.engine.read(&mut tx.parts.thread, stamp, load) }
    }

    /// A copy of the value, as this transaction sees it.
    ///
    /// # Errors
    ///
    /// Same errors as [`share`](Self::share).
    ///
    /// # Panics
    ///
    /// Same panics as [`share`](Self::share), and those of `T::clone`.
    pub fn get<'tx, E>(&'tx self, tx: &mut Tx<'tx, '_, E>) -> Result<T>
    where
        T: Clone,
        E: Engine<Memory = M>,
    {
        self.share(tx).map(|value| T::clone(&value))
    }

    /// Replaces the value. Other transactions see the change only after this one has committed.
    ///
    /// # Panics
    ///
    /// If the variable belongs to another engine.
    #[track_caller]
    pub fn set<'tx, E>(&'tx self, tx: &mut Tx<'tx, '_, E>, value: T)
    where
        E: Engine<Memory = M>,
    {
        let value = Arc::new(value);
        if E::in_place(&tx.parts.thread) {
            return self.overwrite(tx, value);
        }
        if let Some(pending) = self.pending(tx) {
            // The value that was to be written is dropped after it has been replaced.
            drop(replace(&mut pending.value, value));
            return;
        }
        // Relaxed: the variable's engine never changes.
        if !tx.engine.owns(self.stamp.load(Relaxed)) {
            foreign();
        }
        E::wrote(&mut tx.parts.thread);
        let pending = Pending { variable: NonNull::from(self), value };
        // SAFETY: the variable outlives the transaction, at whose end the entries are cleared.
        unsafe { tx.parts.writes.add_object(NonNull::from(&self.stamp), Box::new(pending)) };
    }

    /// Replaces the value in place, and keeps the earlier value unless one is kept already.
    fn overwrite<'tx, E>(&'tx self, tx: &mut Tx<'tx, '_, E>, value: Arc<T>)
    where
        E: Engine<Memory = M>,
    {
        let stamp = NonNull::from(&self.stamp);
        // SAFETY: the variable outlives the transaction.
        unsafe { tx.engine.take(&mut tx.parts.thread, stamp) };
        let before = self.value.with(|present| replace(present, value));
        if self.pending(tx).is_some() {
            // Dropped outside of the variable's lock.
            return drop(before);
        }
        let kept = Pending { variable: NonNull::from(self), value: before };
        // SAFETY: the variable outlives the transaction, at whose end the entries are cleared.
        unsafe { tx.parts.writes.add_object(stamp, Box::new(kept)) };
    }

    /// The value that this transaction is going to write here, or the earlier value that it keeps.
    fn pending<'a, E>(&self, tx: &'a mut Tx<'_, '_, E>) -> Option<&'a mut Pending<T, M>>
    where
        E: Engine<Memory = M>,
    {
        tx.parts.writes.object(NonNull::from(&self.stamp))?.any().downcast_mut()
    }

    /// The value, or a copy if there is another reference to it. No transaction can use the
    /// variable any more.
    pub fn into_inner(self) -> T
    where
        T: Clone,
    {
        Arc::unwrap_or_clone(self.value.into_inner())
    }
}

/// The value that a variable is to get. After the exchange, or if the transaction writes in place,
/// the variable's earlier value.
struct Pending<T, M: LongMemory> {
    variable: NonNull<TVar<T, M>>,
    value: Arc<T>,
}

impl<T: Send + Sync + 'static, M: LongMemory> Install for Pending<T, M> {
    fn install(&mut self) {
        // SAFETY: the variable outlives the transaction.
        let variable = unsafe { self.variable.as_ref() };
        variable.value.with(|value| swap(value, &mut self.value));
    }

    fn present(&self) -> Box<dyn Install> {
        // SAFETY: the variable outlives the transaction.
        let variable = unsafe { self.variable.as_ref() };
        let value = variable.value.with(|value| Arc::clone(value));
        Box::new(Self { variable: self.variable, value })
    }

    fn again(&self) -> Box<dyn Install> {
        Box::new(Self { variable: self.variable, value: Arc::clone(&self.value) })
    }

    fn any(&mut self) -> &mut dyn Any {
        self
    }
}

impl<T, M: LongMemory> fmt::Debug for TVar<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TVar").finish_non_exhaustive()
    }
}
