//! Remembers the latest calls of a thread, each with its row. So the row of a repeated call is
//! found with a few comparisons, without a search in a table.
//!
//! A call is noted when one of its operations is sampled, because that takes long anyway. The
//! call's entry counts down the operations until the next sample. If two calls have the same entry,
//! they use it in turn, and the other one is looked up in the tables meanwhile.

use core::cell::Cell;
use core::sync::atomic::{Ordering, compiler_fence};

use super::sampling;
use crate::layout::{REST, Row};
use crate::op::Op;

const ENTRIES: usize = 32;

/// The latest calls of a thread. All zero means no calls.
#[repr(C)]
pub struct Recent {
    entries: [Entry; ENTRIES],
}

#[repr(C)]
struct Entry {
    /// The return address and the operation, combined by [`word`]; 0 in an empty entry.
    call: Cell<u64>,
    /// The address on the stack at which the return address lies.
    caller: Cell<usize>,
    /// The lock, or [`REST`].
    lock: Cell<u64>,
    /// The row that counts the call.
    row: Cell<*mut Row>,
    /// How many operations come before the next one that is sampled.
    left: Cell<u64>,
}

impl Recent {
    /// The row of an operation. `None` if its call is not noted, or if the operation is to be
    /// sampled.
    #[inline(always)]
    pub fn find(&self, op: Op, lock: usize, caller: *const usize, ret: usize) -> Option<*mut Row> {
        let entry = self.entry(caller, ret);
        let left = entry.left.get();
        let is_call = entry.call.get() == word(op, ret) && entry.caller.get() == caller.addr();
        let is_lock = [lock as u64, REST].contains(&entry.lock.get());
        if !is_call || !is_lock || left == 0 {
            return None;
        }
        entry.left.set(left - 1);
        Some(entry.row.get())
    }

    /// Notes the call of a sampled operation, and the row that counts the call's operations.
    ///
    /// # Safety
    /// The row is this thread's own.
    pub unsafe fn note(&self, op: Op, caller: *const usize, ret: usize, row: *mut Row) {
        let entry = self.entry(caller, ret);
        // A signal handler that runs in between finds an empty entry.
        entry.call.set(0);
        compiler_fence(Ordering::SeqCst);
        // SAFETY: by this function's own condition.
        let (lock, calls) = unsafe { ((*row).lock, (*row).calls) };
        entry.caller.set(caller.addr());
        entry.lock.set(lock);
        entry.row.set(row);
        entry.left.set(sampling::until_next(lock, calls) - 1);
        compiler_fence(Ordering::SeqCst);
        entry.call.set(word(op, ret));
    }

    /// Forgets all calls, because rows have moved.
    pub fn clear(&self) {
        for entry in &self.entries {
            entry.call.set(0);
        }
    }

    #[inline(always)]
    fn entry(&self, caller: *const usize, ret: usize) -> &Entry {
        &self.entries[(ret ^ caller.addr() >> 4) % ENTRIES]
    }
}

#[inline(always)]
fn word(op: Op, ret: usize) -> u64 {
    (ret as u64) << 8 | op as u64
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    const RET: usize = 0x40_1234;

    fn row(lock: u64, calls: u64) -> Row {
        Row { lock, calls, ..Row::zeroed() }
    }

    fn none() -> Recent {
        // SAFETY: all zero is none.
        unsafe { std::mem::zeroed() }
    }

    #[test]
    fn a_recent_call_is_found_by_operation_lock_and_caller() {
        let (recent, stack) = (none(), [0_usize; 8]);
        let (caller, mut row) = (&raw const stack[2], row(0x1000, 0));
        let find = |op, lock, caller, ret| recent.find(op, lock, caller, ret);
        assert_eq!(find(Op::MutexLock, 0x1000, caller, RET), None);
        // SAFETY: a row of this thread's own.
        unsafe { recent.note(Op::MutexLock, caller, RET, &raw mut row) };
        assert_eq!(find(Op::MutexLock, 0x1000, caller, RET), Some(&raw mut row));
        assert_eq!(find(Op::MutexTrylock, 0x1000, caller, RET), None);
        assert_eq!(find(Op::MutexLock, 0x1001, caller, RET), None);
        assert_eq!(find(Op::MutexLock, 0x1000, &raw const stack[4], RET), None);
        assert_eq!(find(Op::MutexLock, 0x1000, caller, RET + 32), None);
        recent.clear();
        assert_eq!(find(Op::MutexLock, 0x1000, caller, RET), None);
    }

    #[test]
    fn call_sites_with_many_locks_have_one_row() {
        let (recent, caller) = (none(), 0x7000 as *const usize);
        let mut row = row(REST, 0);
        // SAFETY: as above.
        unsafe { recent.note(Op::MutexLock, caller, RET, &raw mut row) };
        for lock in [0x1000, 0x2000, 0x3000] {
            assert_eq!(recent.find(Op::MutexLock, lock, caller, RET), Some(&raw mut row));
        }
    }

    #[test]
    fn a_call_that_belongs_to_the_sample_is_not_found() {
        let (recent, caller) = (none(), 0x7000 as *const usize);
        let mut row = row(0x1000, 89);
        let between = sampling::until_next(0x1000, 89) - 1;
        // SAFETY: as above.
        unsafe { recent.note(Op::MutexLock, caller, RET, &raw mut row) };
        let find = || recent.find(Op::MutexLock, 0x1000, caller, RET).is_some();
        assert!((0..between).all(|_| find()));
        assert!(!find(), "this one belongs to the sample");
        assert!(!find(), "nor is any after it, until it was noted");
    }
}
