//! Bit spinlocks: attempts to take one, and stores that may release one.

use super::Task;
use crate::bits::{self, Attempt};
use crate::role::{Kind, Role};

/// The outcome of an attempt to take a bit spinlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The lock was taken.
    Taken(Role),
    /// Another task holds the lock.
    Busy(Role),
}

impl Task {
    /// The task attempts to take a bit spinlock, whose word has this virtual and physical address.
    /// A second attempt continues the wait of the first.
    pub fn attempt(&mut self, attempt: Attempt, word: u64, physical: u64) {
        let (role, byte) = (attempt.role(), u64::from(attempt.byte));
        let waits = |pending: &super::Pending| {
            pending.role == role && pending.lock.is_some_and(|(lock, _)| lock == word + byte)
        };
        if !self.level().pending.last().is_some_and(waits) {
            self.begin(role, attempt.site);
            self.word(role, word + byte, physical + byte);
        }
        self.level().attempt = Some(attempt);
    }

    /// Whether the outcome of an attempt at the current level is still to come.
    pub fn attempts(&self) -> bool {
        self.levels.last().is_some_and(|level| level.attempt.is_some())
    }

    /// Execution continues with the block at this address. Returns the outcome of the attempt, if
    /// this block shows it. The caller then calls [`Task::done`] or [`Task::slow`].
    pub fn continues(&mut self, block: u64) -> Option<Outcome> {
        let level = self.level();
        let attempt = level.attempt?;
        let outcome = if block == attempt.taken {
            Outcome::Taken(attempt.role())
        } else if block == attempt.busy {
            Outcome::Busy(attempt.role())
        } else {
            return None;
        };
        level.attempt = None;
        Some(outcome)
    }

    /// The bit spinlock that a store of `size` bytes may have released: one that is held at the
    /// current level, and whose byte is among them.
    pub fn bit_stored(&self, address: u64, size: u64) -> Option<(Role, u64)> {
        let held = self.levels.last()?.held.iter().rev().find(|held| {
            matches!(held.role.kind, Kind::Bit(_)) && held.lock.wrapping_sub(address) < size
        })?;
        Some((held.role, held.lock))
    }

    /// The bit spinlock that an instruction releases by clearing this bit, counted from the lowest
    /// bit of an address; `None` if the task does not hold it.
    pub fn bit_cleared(&self, address: u64, bit: u8) -> Option<(Role, u64)> {
        let (role, lock) = (bits::role(bit % 8), address + u64::from(bit / 8));
        self.has(role, lock).then_some((role, lock))
    }
}

#[cfg(test)]
mod tests;
