//! Bit spinlocks: attempts to take one, and stores that may release one.
//!
//! After a release by a store, another processor may set the bit again before the bit is read here.
//! So if the bit is set after a store by the holder, this store is in doubt: the store was the
//! release if another task takes the lock, or if this task can no longer hold it.

use super::{Finished, Held, Task};
use crate::bits::{self, Attempt, Outcome};
use crate::role::{Kind, Role};

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
    /// current level, and whose byte is among the stored bytes.
    pub fn bit_stored(&self, address: u64, size: u64) -> Option<(Role, u64)> {
        let held = self.levels.last()?.held.iter().rev().find(|held| {
            matches!(held.role.kind, Kind::Bit(_)) && held.lock.wrapping_sub(address) < size
        })?;
        Some((held.role, held.lock))
    }

    /// The latest store may be the release of this bit spinlock of the current level.
    pub fn doubt(&mut self, role: Role, lock: u64, now: u64) {
        let level = self.level();
        let accesses = level.log.len();
        if let Some(held) = level.held.iter_mut().rev().find(|held| held.is(role, lock)) {
            held.doubt = Some((now, accesses));
        }
    }

    /// Whether a release at the current level is in doubt.
    pub fn doubts(&self) -> bool {
        self.levels.last().is_some_and(|level| level.held.iter().any(|held| held.doubt.is_some()))
    }

    /// Removes a bit spinlock of the current level whose release is in doubt, if `released` says
    /// that it was released. The section ends at the store in doubt.
    pub fn settle(&mut self, released: impl Fn(&Held) -> bool) -> Option<Finished> {
        let level = self.level();
        let place = level.held.iter().position(|held| held.doubt.is_some() && released(held))?;
        let held = level.held.remove(place);
        let (at, accesses) = held.doubt?;
        let accesses = level.log.get(held.start..accesses).unwrap_or_default().to_vec();
        let (cut_off, level) = (held.cut_off, level.kind);
        Some(Finished { held, released: at, cut_off, level, accesses })
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
