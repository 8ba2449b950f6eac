//! The trait: what a rank can do with other ranks' memory, and what the fabric promises.
//!
//! Every rank has a *part* of the same size, initially zero; a [`Position`] is a rank and a
//! displacement in its part. The promises are the weakest of one-sided MPI (MPI 4.1, 12.7), so that
//! code written over them runs on any carrier:
//!
//! 1. A change of a word, and a load of one by [`Fabric::load`], is atomic and has taken effect
//!    when it returns; all of them are in one order on which all ranks agree.
//! 2. A put takes effect, word by word and in any order, between its call and the end of the next
//!    flush of that rank. Until then another put, a get or a change of the same rank may overtake it.
//! 3. A get has read when it returns, word by word in any order. Data that other ranks put at the
//!    same time may be seen in part; aligned words of 64 bits are never torn.
//! 4. A word has one kind of access while it is shared: either changes and loads, or puts and gets.
//!    The result of a put and a change of the same word at the same time is unspecified. A get may
//!    read words that are changed, and sees each before or after the change.

use std::time::Duration;

use thiserror::Error;

/// The position of a byte or word: a rank, and a displacement in its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// The rank.
    pub rank: usize,
    /// The displacement in bytes; for a word, a multiple of 8.
    pub at: usize,
}

impl Position {
    /// The position this many bytes further on.
    #[must_use]
    pub fn plus(self, bytes: usize) -> Position {
        Position { at: self.at + bytes, ..self }
    }
}

/// How a word is changed, given an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The word stays the same: an atomic load.
    Keep,
    /// The operand replaces the word.
    Replace,
    /// The sum, wrapping around; with a negated operand, the difference.
    Add,
    /// The bits that are set in both.
    And,
    /// The bits that are set in either.
    Or,
}

impl Change {
    /// Computes the new word.
    pub fn apply(self, old: u64, operand: u64) -> u64 {
        match self {
            Change::Keep => old,
            Change::Replace => operand,
            Change::Add => old.wrapping_add(operand),
            Change::And => old & operand,
            Change::Or => old | operand,
        }
    }
}

/// The error for a rank that has died together with its part.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("rank {rank} is dead, and so is its memory")]
pub struct Dead {
    /// The rank.
    pub rank: usize,
}

/// One rank's access to the parts of all; see [the crate](crate) for the fabrics that exist.
///
/// All functions that access a [`Position`] panic if it is not within the part of an existing rank,
/// and those for words if it is not a multiple of 8: that is a mistake of the caller on any fabric.
///
/// An error means that the target has died; from then on nothing in its part can be accessed. A
/// fabric whose parts outlive their ranks, such as [`Host`](crate::Host), returns none.
pub trait Fabric {
    /// The number of the calling rank, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks, including dead ones.
    fn ranks(&self) -> usize;

    /// The size of each rank's part in bytes.
    fn bytes(&self) -> usize;

    /// Writes bytes; they are complete after the next [`flush`](Self::flush) of that rank. The
    /// caller may reuse `bytes` at once. The flush reports a dead target.
    fn put(&self, to: Position, bytes: &[u8]);

    /// Reads bytes, and waits for them.
    ///
    /// # Errors
    ///
    /// If the target is dead; the contents of `into` are then unspecified.
    fn get(&self, from: Position, into: &mut [u8]) -> Result<(), Dead>;

    /// Writes `new` to a word that holds `old`. Returns what the word held: `old`, if `new` was
    /// written.
    ///
    /// # Errors
    ///
    /// If the target is dead.
    fn compare_and_swap(&self, at: Position, old: u64, new: u64) -> Result<u64, Dead>;

    /// Changes a word, and returns its former value.
    ///
    /// # Errors
    ///
    /// If the target is dead.
    fn fetch_and(&self, at: Position, change: Change, operand: u64) -> Result<u64, Dead>;

    /// Waits until everything that this rank has put to that one has taken effect. Waits for no
    /// other rank if nothing was put there since the last flush.
    ///
    /// # Errors
    ///
    /// If the target is dead.
    fn flush(&self, rank: usize) -> Result<(), Dead>;

    /// [`flush`](Self::flush) of every rank to which something was put since its last flush; dead
    /// ranks are not reported.
    fn flush_all(&self);

    /// The pause between two polls of a word; `looks` counts the polls since the wait began, from
    /// 1, and lets the pauses grow. A fabric may return early when the word changes.
    fn pause(&self, at: Position, looks: u32);

    /// Makes no memory access for roughly this time.
    fn rest(&self, time: Duration);

    /// Whether a rank lives, as far as this one knows. It may take a while until a death is known.
    /// Once it is, nothing that the dead rank has begun will take effect any more. Before, an
    /// operation on its part may already fail: a rank that takes over from a dead one waits until
    /// this returns `false`.
    fn is_alive(&self, rank: usize) -> bool;

    /// The number of the rank's machine, from 0: ranks of one machine are near each other.
    fn machine(&self, rank: usize) -> usize;

    /// The time since some moment in the past.
    fn now(&self) -> Duration;

    /// Loads a word atomically.
    ///
    /// # Errors
    ///
    /// If the target is dead.
    #[inline]
    fn load(&self, at: Position) -> Result<u64, Dead> {
        self.fetch_and(at, Change::Keep, 0)
    }

    /// Stores a word atomically; the store has taken effect when this returns. Earlier puts may not
    /// have: a store that publishes them must come after a flush.
    ///
    /// # Errors
    ///
    /// If the target is dead.
    #[inline]
    fn store(&self, at: Position, value: u64) -> Result<(), Dead> {
        self.fetch_and(at, Change::Replace, value).map(|_| ())
    }

    /// Adds to a word, and returns its former value.
    ///
    /// # Errors
    ///
    /// If the target is dead.
    #[inline]
    fn add(&self, at: Position, value: u64) -> Result<u64, Dead> {
        self.fetch_and(at, Change::Add, value)
    }
}
