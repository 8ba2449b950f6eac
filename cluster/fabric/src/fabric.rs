//! The trait `Fabric`: what a rank can do with other ranks' memory, and what a fabric promises.
//!
//! Every rank has a *part*: memory of the same size on all ranks, zero at first. A [`Position`] is
//! a rank and an offset in its part. The promises are the weakest ones of one-sided MPI (MPI 4.1,
//! 12.7), so code that relies on them runs on any fabric:
//!
//! 1. A change of a word, and a load of a word by [`Fabric::load`], is atomic and has taken effect
//!    when its call returns. All changes and loads are in one order on which all ranks agree.
//! 2. A put takes effect word by word, in any order, between its call and the end of the next flush
//!    of its target. Until then, a later put, get or change by the same rank may overtake it.
//! 3. A get has read everything when it returns, word by word and in any order. It may see a part
//!    of what other ranks put at the same time; aligned words of 64 bits are never torn.
//! 4. While a word is shared, it is accessed in one way only: either by changes and loads, or by
//!    puts and gets. The result of a put and a change of one word at the same time is unspecified.
//!    As an exception, a get may read words that are changed, and sees each as before or after the
//!    change.

use std::time::Duration;

use thiserror::Error;

/// The position of a byte or word in the ranks' memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// The rank.
    pub rank: usize,
    /// The offset in the rank's part, in bytes; for a word, a multiple of 8.
    pub at: usize,
}

impl Position {
    /// The position that is this many bytes after this one.
    #[must_use]
    pub fn plus(self, bytes: usize) -> Position {
        Position { at: self.at + bytes, ..self }
    }
}

/// How a word is changed, given an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The word keeps its value: this is an atomic load.
    Keep,
    /// The operand replaces the word.
    Replace,
    /// The sum of word and operand, which wraps around. With a negated operand it is the
    /// difference.
    Add,
    /// The bits that are set in both word and operand.
    And,
    /// The bits that are set in word or operand.
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

/// An operation of [`Fabric::perform`].
#[derive(Debug)]
pub enum Operation<'a> {
    /// [`Fabric::get`].
    Get {
        /// The position of the first byte.
        from: Position,
        /// The place for the bytes.
        into: &'a mut [u8],
    },
    /// [`Fabric::compare_and_swap`].
    Swap(&'a mut Swap),
}

/// A compare-and-swap of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swap {
    /// The position of the word.
    pub at: Position,
    /// The value that is replaced.
    pub old: u64,
    /// The value that replaces it.
    pub new: u64,
    /// The value that the word held, once this was performed.
    pub found: u64,
}

impl Swap {
    /// Makes a compare-and-swap that is not performed yet.
    pub fn new(at: Position, old: u64, new: u64) -> Swap {
        Swap { at, old, new, found: 0 }
    }

    /// Whether the word held neither of the two values, once this was performed.
    pub fn has_failed(&self) -> bool {
        self.found != self.old && self.found != self.new
    }

    /// Performs this by [`Fabric::compare_and_swap`].
    ///
    /// # Errors
    ///
    /// If the target is dead.
    pub fn perform_on(&mut self, fabric: &(impl Fabric + ?Sized)) -> Result<(), Dead> {
        self.found = fabric.compare_and_swap(self.at, self.old, self.new)?;
        Ok(())
    }
}

impl Operation<'_> {
    /// The position of the word, or of the first byte.
    pub fn position(&self) -> Position {
        match self {
            Operation::Get { from, .. } => *from,
            Operation::Swap(swap) => swap.at,
        }
    }

    /// The number of bytes that are read or changed.
    pub fn bytes(&self) -> usize {
        match self {
            Operation::Get { into, .. } => into.len(),
            Operation::Swap(_) => 8,
        }
    }
}

/// Performs operations as [`Fabric::perform`] does, each by the fabric's function for it.
pub(crate) fn one_by_one(
    fabric: &(impl Fabric + ?Sized),
    operations: &mut [Operation<'_>],
) -> Result<usize, Dead> {
    for (number, operation) in operations.iter_mut().enumerate() {
        match operation {
            Operation::Get { from, into } => fabric.get(*from, into)?,
            Operation::Swap(swap) => {
                swap.perform_on(fabric)?;
                if swap.has_failed() {
                    return Ok(number + 1);
                }
            }
        }
    }
    Ok(operations.len())
}

/// The error for a rank that has died, so that its part is lost.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("rank {rank} is dead, and so is its memory")]
pub struct Dead {
    /// The rank.
    pub rank: usize,
}

/// One rank's access to the parts of all ranks. [The crate](crate) lists the fabrics.
///
/// All functions that access a [`Position`] panic if it is not within the part of an existing rank.
/// Functions that access a word also panic if the position is not a multiple of 8. These are
/// mistakes of the caller on any fabric.
///
/// [`Dead`] means that the target has died. From then on its part can't be accessed. On fabrics
/// whose parts outlive their ranks, such as [`Host`](crate::Host), no function returns this error.
pub trait Fabric {
    /// The number of the calling rank, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks, including dead ones.
    fn ranks(&self) -> usize;

    /// The size of each rank's part in bytes.
    fn bytes(&self) -> usize;

    /// Writes bytes. The write is complete after the next [`flush`](Self::flush) of the target. The
    /// caller may reuse `bytes` at once. If the target is dead, the flush reports it.
    fn put(&self, to: Position, bytes: &[u8]);

    /// Reads bytes, and waits for them.
    ///
    /// # Errors
    ///
    /// If the target is dead; the contents of `into` are then unspecified.
    fn get(&self, from: Position, into: &mut [u8]) -> Result<(), Dead>;

    /// Writes `new` to a word if it holds `old`. Returns the value that the word held: `old` if
    /// `new` was written.
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

    /// Performs operations in this order, up to the first swap that [fails](Swap::has_failed).
    /// Returns how many operations were performed, including that swap. A fabric may need only one
    /// round trip for all of them, if they are about one machine. A get among them reads at most 1 MiB.
    ///
    /// # Errors
    ///
    /// If a target is dead. Then some of the operations may have been performed, and their results
    /// are unspecified.
    #[inline]
    fn perform(&self, operations: &mut [Operation<'_>]) -> Result<usize, Dead> {
        one_by_one(self, operations)
    }

    /// Waits until everything that this rank has put to the other one has taken effect. If nothing
    /// was put to it since its last flush, this returns without communication.
    ///
    /// # Errors
    ///
    /// If the target is dead.
    fn flush(&self, rank: usize) -> Result<(), Dead>;

    /// Calls [`flush`](Self::flush) for every rank to which something was put since its last flush.
    /// Dead ranks are not reported.
    fn flush_all(&self);

    /// Pauses between two polls of a word. `looks` is the number of polls since the wait began,
    /// from 1; pauses grow with it. A fabric may return early when the word changes.
    fn pause(&self, at: Position, looks: u32);

    /// Waits for roughly this time, without accesses to memory.
    fn rest(&self, time: Duration);

    /// Whether a rank lives, as far as this rank knows. A death may become known only after a
    /// while. Once this returns `false`, no operation that the dead rank began will take effect any
    /// more. Operations on the dead rank's part may fail earlier than that. So a rank that takes
    /// over from a dead one must wait until this returns `false`.
    fn is_alive(&self, rank: usize) -> bool;

    /// The number, from 0, of the machine of a rank. Ranks on one machine are near each other.
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

    /// Stores a word atomically. The store has taken effect when this returns, but earlier puts may
    /// not have: a store that publishes what was put must come after a flush.
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
