//! Bit spinlocks, whose acquisitions and releases are inlined.

use syncline_kernel_follow::bits::{Attempt, Outcome};
use syncline_kernel_follow::context::Held;
use syncline_kernel_follow::role::Kind;

use super::{Cpu, memory};
use crate::ledger;
use crate::qemu::{self, MemInfo};

/// The code at an address of the kernel, for the translation of other code.
pub fn code(address: u64) -> Option<Vec<u8>> {
    memory().code(address)
}

impl Cpu {
    /// An instruction attempts to take a bit spinlock.
    pub(super) fn attempt(&mut self, attempt: Attempt, word: u64, physical: u64) {
        self.current.catch_up();
        self.current.task.attempt(attempt, word, physical);
        self.refresh();
    }

    /// A block begins while the outcome of an attempt is to come.
    pub(super) fn continues(&mut self, block: u64) {
        match self.current.task.continues(block) {
            Some(Outcome::Taken(role)) => self.done(role),
            Some(Outcome::Busy(role)) => self.slow(role),
            None => return,
        }
        self.refresh();
    }

    /// An instruction clears a bit.
    pub(super) fn clear(&mut self, insn: u64, info: MemInfo, address: u64, bit: u8) {
        let Some((role, lock)) = self.current.task.bit_cleared(address, bit) else {
            return self.access(insn, info, address);
        };
        // SAFETY: called from the callback for this access.
        if unsafe { qemu::qemu_plugin_mem_is_store(info) } {
            self.release(role, lock);
        }
    }

    /// A store that may set a whole word or byte has been executed. If the store has cleared the
    /// bit of a held lock, the store was the release (`rht_assign_unlock`).
    pub(super) fn stored(&mut self, address: u64, size: u64) {
        let Some((role, lock)) = self.current.task.bit_stored(address, size) else { return };
        let Kind::Bit(bit) = role.kind else { return };
        let Some(byte) = memory().byte(lock) else { return };
        if byte & 1 << bit == 0 {
            self.release(role, lock);
        } else {
            self.executed = ledger::may_release(lock, self.executed);
            self.current.task.doubt(role, lock, self.executed);
            self.refresh();
        }
    }

    /// Ends each section whose release was in doubt, if the store in doubt is now known to be the
    /// release. `certain` is true if the task can't hold such a lock any longer, since it sleeps,
    /// leaves the level or returns to user space.
    pub(super) fn settle(&mut self, certain: bool) {
        while self.doubts {
            let released = |held: &Held| certain || ledger::taken_since(held.lock, held.order);
            let Some(finished) = self.current.task.settle(released) else { return };
            self.finish(finished);
            self.refresh();
        }
    }
}
