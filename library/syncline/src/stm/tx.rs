//! A transaction under way, as its closure sees it.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::mem::replace;

use super::engine::Engine;
use super::global::Global;
use super::stop::{Result, Stop};
use super::writes::Writes;

/// One attempt of a transaction.
///
/// `'tx` is the attempt: the cells that it uses outlive it. `'env` is the lifetime of what
/// surrounds the call of [`atomically`](super::atomically), so that cells there can be used.
pub struct Tx<'tx, 'env: 'tx, E: Engine = Global> {
    pub(super) engine: &'tx E,
    pub(super) parts: &'tx mut Parts<E>,
    /// Makes both lifetimes invariant.
    pub(super) lifetimes: PhantomData<(&'tx mut &'tx (), &'env mut &'env ())>,
}

impl<'tx, 'env: 'tx, E: Engine> Tx<'tx, 'env, E> {
    /// Waits until another transaction changes something that this one has read, and then runs this
    /// one again: `return tx.retry()`.
    ///
    /// Reads of alternatives that called `retry` count as well, see [`or_else`](Self::or_else). The
    /// wait can end spuriously; the transaction then finds that it still has to wait.
    ///
    /// # Errors
    ///
    /// Always: pass the error on, out of the closure.
    ///
    /// # Panics
    ///
    /// [`atomically`](super::atomically) panics if the transaction has read nothing: it would
    /// wait forever.
    pub fn retry<R>(&mut self) -> Result<R> {
        Err(Stop::RETRY)
    }

    /// Runs `first` and, if that calls [`retry`](Self::retry), undoes what it has written and runs
    /// `second` instead. If both retry, the transaction waits for changes of what either of them
    /// has read.
    ///
    /// # Errors
    ///
    /// The error of the alternative that ran last.
    pub fn or_else<R>(
        &mut self,
        first: impl FnOnce(&mut Self) -> Result<R>,
        second: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let Parts { thread, writes, .. } = &*self.parts;
        let before = if E::in_place(thread) { writes.present() } else { writes.again() };
        match first(self) {
            Err(Stop::RETRY) => {
                self.parts.take_back();
                let tried = replace(&mut self.parts.writes, before);
                // Restores what was written in place before `first` ran.
                if E::in_place(&self.parts.thread) {
                    self.parts.writes.write_again();
                }
                drop(tried);
                second(self)
            }
            result => result,
        }
    }

    /// Discards all writes of the transaction. Use this in a transaction that gives up, and then
    /// returns `Ok` with a value that says so.
    ///
    /// ```
    /// use syncline::stm::{TCell, atomically};
    ///
    /// let seats = TCell::new(1_u32);
    /// let booked = atomically(|tx| {
    ///     for _ in 0..2 {
    ///         let Some(left) = seats.get(tx)?.checked_sub(1) else {
    ///             tx.undo();
    ///             return Ok(Err("sold out"));
    ///         };
    ///         seats.set(tx, left);
    ///     }
    ///     Ok(Ok(()))
    /// });
    /// assert_eq!((booked, seats.into_inner()), (Err("sold out"), 1));
    /// ```
    pub fn undo(&mut self) {
        self.parts.take_back();
        self.parts.writes.clear();
    }

    /// Keeps an object alive until the attempt ends, so that cells in it can be used: for example
    /// the node that a link leads to.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use syncline::stm::{TCell, TVar, atomically};
    ///
    /// struct Node {
    ///     value: TCell<u64>,
    ///     next: TVar<Option<Arc<Node>>>,
    /// }
    /// let last = Node { value: TCell::new(2), next: TVar::new(None) };
    /// let list = TVar::new(Some(Arc::new(Node {
    ///     value: TCell::new(1),
    ///     next: TVar::new(Some(Arc::new(last))),
    /// })));
    ///
    /// let sum = atomically(|tx| {
    ///     let (mut sum, mut link) = (0, list.get(tx)?);
    ///     while let Some(node) = link {
    ///         let node = tx.keep(node);
    ///         sum += node.value.get(tx)?;
    ///         link = node.next.get(tx)?;
    ///     }
    ///     Ok(sum)
    /// });
    /// assert_eq!(sum, 3);
    /// ```
    pub fn keep<T: Send + Sync + 'static>(&mut self, value: Arc<T>) -> &'tx T {
        let kept = Arc::as_ptr(&value);
        self.parts.kept.push(value);
        // SAFETY: it lives until `kept` is cleared, after this attempt.
        unsafe { &*kept }
    }
}

/// The parts that a session reuses for all its transactions.
pub(super) struct Parts<E: Engine> {
    pub(super) thread: E::Thread,
    pub(super) writes: Writes<E::Memory>,
    /// The objects that are kept alive.
    pub(super) kept: Vec<Arc<dyn Send + Sync>>,
}

impl<E: Engine> Parts<E> {
    /// Takes back the writes of an attempt that runs in place.
    pub(super) fn take_back(&mut self) {
        if E::in_place(&self.thread) {
            self.writes.take_back();
        }
    }

    /// Drops what attempts have left. This may run the user's code.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.writes.clear_words();
        if !self.kept.is_empty() || self.writes.has_objects() {
            self.clear_all();
        }
    }

    #[cold]
    fn clear_all(&mut self) {
        let kept = Clearing(&mut self.kept);
        self.writes.clear();
        drop(kept);
    }
}

/// Clears a list when dropped, even if other code panics before.
struct Clearing<'a, T>(&'a mut Vec<T>);

impl<T> Drop for Clearing<'_, T> {
    fn drop(&mut self) {
        self.0.clear();
    }
}

impl<E: Engine> fmt::Debug for Tx<'_, '_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tx").finish_non_exhaustive()
    }
}
