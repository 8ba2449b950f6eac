//! A cell for small values that are copied: a stamp and one word, side by side, so that a
//! transaction usually fetches only one line.

use core::fmt;
use core::marker::PhantomData;
use core::mem::size_of;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use bytemuck::NoUninit;

use super::engine::{Engine, foreign};
use super::stop::Result;
use super::tx::Tx;
use crate::memory::{Long, LongMemory, Native};

/// A value of at most 8 bytes that transactions read and write.
///
/// [`NoUninit`] says that a type has no padding: integers, floats, `bool`, `char`, arrays of them,
/// and types that derive it. Anything larger goes into a [`TVar`](super::TVar).
///
/// ```
/// use syncline::stm::{TCell, atomically};
///
/// static HITS: TCell<u64> = TCell::new(0);
///
/// atomically(|tx| {
///     let hits = HITS.get(tx)?;
///     HITS.set(tx, hits + 1);
///     Ok(())
/// });
/// assert_eq!(atomically(|tx| HITS.get(tx)), 1);
/// ```
#[repr(C)]
pub struct TCell<T, M: LongMemory = Native> {
    stamp: M::Long,
    word: M::Long,
    /// Values are copied in and out.
    values: PhantomData<fn(T) -> T>,
}

/// A value in the form in which a word holds it.
#[repr(C)]
union Bits<T: Copy> {
    value: T,
    bits: u64,
}

#[inline(always)]
const fn to_bits<T: NoUninit>(value: T) -> u64 {
    const { assert!(size_of::<T>() <= 8, "a TCell holds at most 8 bytes; use a TVar") };
    let mut bits = Bits { bits: 0 };
    bits.value = value;
    // SAFETY: all bytes are initialized: the value has no padding, and the rest is 0.
    unsafe { bits.bits }
}

#[inline(always)]
fn from_bits<T: NoUninit>(bits: u64) -> T {
    // SAFETY: the word's bits come from a value, in `to_bits`.
    unsafe { Bits { bits }.value }
}

impl<T: NoUninit + Send> TCell<T> {
    /// A cell of the [default engine](super::atomically).
    pub const fn new(value: T) -> Self {
        let word = AtomicU64::new(to_bits(value));
        Self { stamp: AtomicU64::new(0), word, values: PhantomData }
    }
}

impl<T: NoUninit + Send, M: LongMemory> TCell<T, M> {
    /// A cell of this engine.
    pub(super) fn of<E: Engine<Memory = M>>(engine: &E, value: T) -> Self {
        let (stamp, word) = (M::Long::default(), M::Long::default());
        // Relaxed: other threads get a reference to the cell through something that synchronizes.
        stamp.store(engine.fresh_stamp(), Relaxed);
        word.store(to_bits(value), Relaxed);
        Self { stamp, word, values: PhantomData }
    }

    /// The value, as this transaction sees it.
    ///
    /// # Errors
    ///
    /// The attempt is over, since another transaction was in the way; pass the error on.
    ///
    /// # Panics
    ///
    /// If the cell belongs to another engine.
    #[inline(always)]
    pub fn get<'tx, E>(&'tx self, tx: &mut Tx<'tx, '_, E>) -> Result<T>
    where
        E: Engine<Memory = M>,
    {
        let (stamp, thread) = (NonNull::from(&self.stamp), &mut tx.parts.thread);
        // SAFETY: the cell outlives the transaction.
        match unsafe { tx.engine.read_at_once(thread, stamp, || self.load()) } {
            Some(bits) => Ok(from_bits(bits)),
            None => self.get_aside(tx).map(from_bits),
        }
    }

    /// The slow path of [`get`](Self::get), for when reading the stamp was not enough.
    #[inline]
    fn get_aside<'tx, E>(&'tx self, tx: &mut Tx<'tx, '_, E>) -> Result<u64>
    where
        E: Engine<Memory = M>,
    {
        let stamp = NonNull::from(&self.stamp);
        if E::in_place(&tx.parts.thread) {
            // SAFETY: the cell outlives the transaction.
            unsafe { tx.engine.wait_until_free(&mut tx.parts.thread, stamp) };
            return Ok(self.load());
        }
        if let Some(bits) = tx.parts.writes.word(stamp) {
            return Ok(bits.get());
        }
        // SAFETY: the cell outlives the transaction.
        unsafe { tx.engine.read(&mut tx.parts.thread, stamp, || self.load()) }
    }

    #[inline(always)]
    fn load(&self) -> u64 {
        // Acquire: pairs with the Release in `Writes::install` and `Writes::overwrite`.
        self.word.load(Acquire)
    }

    /// Whether the cell belongs to this engine.
    #[doc(hidden)]
    #[inline]
    pub fn belongs_to<E: Engine<Memory = M>>(&self, engine: &E) -> bool {
        // Relaxed: the cell's engine never changes.
        engine.owns(self.stamp.load(Relaxed))
    }

    /// Sets the value. Other transactions see the change only after this one has committed.
    ///
    /// # Panics
    ///
    /// If the cell belongs to another engine.
    #[inline(always)]
    #[track_caller]
    pub fn set<'tx, E>(&'tx self, tx: &mut Tx<'tx, '_, E>, value: T)
    where
        E: Engine<Memory = M>,
    {
        let (stamp, word) = (NonNull::from(&self.stamp), NonNull::from(&self.word));
        // SAFETY: the cell outlives the transaction, at whose end the entries are cleared; this
        // thread runs alone if it has taken the cell.
        unsafe {
            if tx.engine.has_taken(&tx.parts.thread, stamp) {
                return tx.parts.writes.overwrite(stamp, word, to_bits(value));
            }
        }
        self.set_aside(tx, to_bits(value));
    }

    /// The slow path of [`set`](Self::set), for a cell that the transaction has not taken yet.
    #[inline]
    #[track_caller]
    fn set_aside<'tx, E>(&'tx self, tx: &mut Tx<'tx, '_, E>, value: u64)
    where
        E: Engine<Memory = M>,
    {
        let stamp = NonNull::from(&self.stamp);
        if E::in_place(&tx.parts.thread) {
            // SAFETY: the cell outlives the transaction, at whose end the entries are cleared; this
            // thread runs alone.
            return unsafe {
                tx.engine.take(&mut tx.parts.thread, stamp);
                tx.parts.writes.overwrite(stamp, NonNull::from(&self.word), value);
            };
        }
        match tx.parts.writes.word(stamp) {
            Some(bits) => bits.set(value),
            None => {
                if !self.belongs_to(tx.engine) {
                    foreign();
                }
                E::wrote(&mut tx.parts.thread);
                // SAFETY: the cell outlives the transaction, at whose end the entries are cleared.
                unsafe { tx.parts.writes.add_word(stamp, NonNull::from(&self.word), value) };
            }
        }
    }

    /// The value. This needs no transaction, since none can use the cell any more.
    pub fn into_inner(self) -> T {
        // Relaxed: the thread that owns the cell got it through something that synchronizes.
        from_bits(self.word.load(Relaxed))
    }
}

impl<T, M: LongMemory> fmt::Debug for TCell<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TCell").finish_non_exhaustive()
    }
}
