//! The trait: what a rank can do with the others' memory, and what it is promised.
//!
//! Every rank has a *part* of the same size, zero at first; a [`Position`] is a rank and a displacement
//! in its part. The promises are the least that one-sided MPI gives (MPI 4.1, 12.7), so that what is
//! written over them runs on any carrier:
//!
//! 1. A change of a word, and a look at one by [`Fabric::load`], is atomic and has taken effect when
//!    it returns; all of them are in one order that all ranks agree upon.
//! 2. A put takes effect, word by word and in any order, between its call and the end of the next
//!    flush of that rank. Until then another put, a get or a change of the same rank may overtake it.
//! 3. A get has read when it returns, word by word in any order. What others put at the same time may
//!    be seen in part; aligned words of 64 bits are never torn.
//! 4. A word has one kind of access while it is shared: either changes and loads, or puts and gets.
//!    What a put and a change of the same word at the same time leave is not said. A get may read
//!    words that are changed, and sees each before or after the change.

use std::time::Duration;

use thiserror::Error;

/// Where something is: in which rank's part, and how far into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// The rank.
    pub rank: usize,
    /// The displacement in bytes; of a word, a multiple of 8.
    pub at: usize,
}

impl Position {
    /// This many bytes further.
    #[must_use]
    pub fn plus(self, bytes: usize) -> Position {
        Position { at: self.at + bytes, ..self }
    }
}

/// What becomes of a word, given an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It stays: an atomic look.
    Keep,
    /// The operand takes its place.
    Replace,
    /// The sum, wrapping around; the difference, with a negated operand.
    Add,
    /// The bits of both.
    And,
    /// The bits of either.
    Or,
}

impl Change {
    /// The new word.
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

/// A rank has died, and its part with it.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("rank {rank} is dead, and so is its memory")]
pub struct Dead {
    /// The rank.
    pub rank: usize,
}

/// One rank's access to the parts of all; see [the crate](crate) for which fabrics there are.
///
/// All functions that take a [`Position`] panic if it is not within the part of a rank that there is,
/// and those for words if it is not a multiple of 8: that is the caller's mistake on any fabric.
///
/// An error means that the target has died: then and from then on nothing of its part can be
/// reached. A fabric on which parts outlive their ranks, as [`Host`](crate::Host)'s, gives none.
pub trait Fabric {
    /// The number of the caller, from 0.
    fn rank(&self) -> usize;

    /// How many ranks there are, the dead included.
    fn ranks(&self) -> usize;

    /// The size of each rank's part in bytes.
    fn bytes(&self) -> usize;

    /// Writes bytes, complete at the next [`flush`](Self::flush) of that rank. The caller may use
    /// `bytes` for something else at once. That a target is dead the flush says.
    fn put(&self, to: Position, bytes: &[u8]);

    /// Reads bytes, and waits for them.
    ///
    /// # Errors
    ///
    /// If the target is dead; what `into` holds is then not said.
    fn get(&self, from: Position, into: &mut [u8]) -> Result<(), Dead>;

    /// Writes `new` to a word that holds `old`, and returns what it held: `old`, if it was written.
    ///
    /// # Errors
    ///
    /// If the target is dead.
    fn compare_and_swap(&self, at: Position, old: u64, new: u64) -> Result<u64, Dead>;

    /// Changes a word, and returns what it held.
    ///
    /// # Errors
    ///
    /// If the target is dead.
    fn fetch_and(&self, at: Position, change: Change, operand: u64) -> Result<u64, Dead>;

    /// Waits until all that this rank has put to that one has taken effect. Costs nothing if nothing
    /// was put there since the last flush.
    ///
    /// # Errors
    ///
    /// If the target is dead.
    fn flush(&self, rank: usize) -> Result<(), Dead>;

    /// [`flush`](Self::flush) of every rank that something was put to since; of the dead, nothing
    /// is said.
    fn flush_all(&self);

    /// The pause between two looks at a word; `looks` counts the looks since the wait began, from 1,
    /// and lets the pauses grow. A fabric may return early when something changes there.
    fn pause(&self, at: Position, looks: u32);

    /// Stays away from all memory for so long, roughly.
    fn rest(&self, time: Duration);

    /// Whether a rank lives, as far as this one knows. It may take a while until a death is known.
    /// Once it is, nothing that the dead rank has begun will take effect any more. Before, an operation
    /// on its part may fail already: a rank that takes over from the dead waits for this.
    fn is_alive(&self, rank: usize) -> bool;

    /// The number of the machine that a rank is on, from 0: ranks of one machine are near each other.
    fn machine(&self, rank: usize) -> usize;

    /// The time since some moment in the past.
    fn now(&self) -> Duration;

    /// Looks at a word atomically.
    ///
    /// # Errors
    ///
    /// If the target is dead.
    #[inline]
    fn load(&self, at: Position) -> Result<u64, Dead> {
        self.fetch_and(at, Change::Keep, 0)
    }

    /// Writes a word atomically; it is written when this returns. What was put before need not be:
    /// a store that publishes it comes after a flush.
    ///
    /// # Errors
    ///
    /// If the target is dead.
    #[inline]
    fn store(&self, at: Position, value: u64) -> Result<(), Dead> {
        self.fetch_and(at, Change::Replace, value).map(|_| ())
    }

    /// Adds to a word, and returns what it held.
    ///
    /// # Errors
    ///
    /// If the target is dead.
    #[inline]
    fn add(&self, at: Position, value: u64) -> Result<u64, Dead> {
        self.fetch_and(at, Change::Add, value)
    }
}
