//! Remembers the latest calls of a thread, each with its row. So the row of a repeated call is
//! found with a few comparisons, without a search in a table.
//!
//! A call is noted when one of its operations is sampled, because that takes long anyway. The
//! call's entry counts down the operations until the next sample. If two calls have the same entry,
//! they use it in turn, and the other one is looked up in the tables meanwhile. If calls differ only
//! in their path, one has the first place, and each of the others has a second place that depends on
//! the path.

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
    /// The return address, the operation and the path, combined by [`word`]; 0 in an empty entry.
    call: Cell<u64>,
    /// The address on the stack at which the return address lies.
    caller: Cell<usize>,
    /// The lock, or [`REST`].
    lock: Cell<u64>,
    /// The row that counts the call.
    row: Cell<*mut Row>,
    /// How many operations come before the next one that is sampled.
    left: Cell<u32>,
    /// The distance in words from the return address to the word of the stack that tells the call's
    /// path. For most calls it is 0: the return address itself.
    path: Cell<u32>,
}

/// A call to be noted.
#[derive(Clone, Copy)]
pub struct Noted {
    /// The operation.
    pub op: Op,
    /// The address on the stack at which the return address lies.
    pub caller: *const usize,
    /// The return address.
    pub ret: usize,
    /// The distance in words from the return address to the word of the stack that tells the call's
    /// path. 0 if there is one path only.
    pub path: u32,
    /// The value of that word.
    pub value: usize,
}

impl Recent {
    /// The row of an operation. `None` if its call is not noted in the first place for it, or if the
    /// operation is to be sampled.
    ///
    /// # Safety
    /// The calling thread is in the call whose return address lies at `caller`.
    #[inline(always)]
    pub unsafe fn find(
        &self,
        op: Op,
        lock: usize,
        caller: *const usize,
        ret: usize,
    ) -> Option<*mut Row> {
        // SAFETY: by this function's own condition.
        unsafe { self.entry(caller, ret).find(op, lock, caller, ret) }
    }

    /// Like [`find`](Self::find), in the second place for a call whose paths are distinguished.
    ///
    /// # Safety
    /// Same requirement as [`find`](Self::find).
    #[inline(always)]
    pub unsafe fn find_other(
        &self,
        op: Op,
        lock: usize,
        caller: *const usize,
        ret: usize,
    ) -> Option<*mut Row> {
        let first = self.entry(caller, ret);
        if first.path.get() == 0 || first.caller.get() != caller.addr() {
            return None;
        }
        // SAFETY: by this function's own condition, and as in `Entry::find`.
        unsafe {
            let value = *caller.wrapping_add(first.path.get() as usize);
            self.second_entry(caller, ret, value).find(op, lock, caller, ret)
        }
    }

    /// Notes the call of a sampled operation, and the row that counts the call's operations.
    ///
    /// # Safety
    /// The row is this thread's own. The thread is in the call, and the word of its path lies on
    /// the thread's stack.
    pub unsafe fn note(&self, call: Noted, row: *mut Row) {
        let Noted { op, caller, ret, path, value } = call;
        let (first, word) = (self.entry(caller, ret), word(op, ret, value));
        let has_other_path = (first.caller.get(), first.path.get()) == (caller.addr(), path)
            && ![0, word].contains(&first.call.get());
        let entry =
            if path != 0 && has_other_path { self.second_entry(caller, ret, value) } else { first };
        // A signal handler that runs in between finds an empty entry.
        entry.call.set(0);
        compiler_fence(Ordering::SeqCst);
        // SAFETY: by this function's own condition.
        let (lock, calls) = unsafe { ((*row).lock, (*row).calls) };
        entry.caller.set(caller.addr());
        entry.lock.set(lock);
        entry.row.set(row);
        let left = sampling::until_next(lock, calls) - 1;
        entry.left.set(u32::try_from(left).unwrap_or(u32::MAX));
        entry.path.set(path);
        compiler_fence(Ordering::SeqCst);
        entry.call.set(word);
    }

    /// Forgets all calls, because rows have moved, or because the thread has ended: the next one may
    /// have a smaller stack in the same place.
    pub fn clear(&self) {
        for entry in &self.entries {
            entry.call.set(0);
            entry.path.set(0);
        }
    }

    #[inline(always)]
    fn entry(&self, caller: *const usize, ret: usize) -> &Entry {
        &self.entries[(ret ^ caller.addr() >> 4) % ENTRIES]
    }

    /// Another entry than [`entry`](Self::entry), by the value that tells the path.
    #[inline(always)]
    fn second_entry(&self, caller: *const usize, ret: usize, value: usize) -> &Entry {
        let distance = 1 + value % (ENTRIES - 1);
        &self.entries[((ret ^ caller.addr() >> 4) + distance) % ENTRIES]
    }
}

impl Entry {
    /// # Safety
    /// Same requirement as [`Recent::find`].
    #[inline(always)]
    unsafe fn find(
        &self,
        op: Op,
        lock: usize,
        caller: *const usize,
        ret: usize,
    ) -> Option<*mut Row> {
        if self.caller.get() != caller.addr() {
            return None;
        }
        // SAFETY: the thread was in a call with the same `caller` when this distance was noted, and
        // the word lies between `caller` and the end of the stack.
        let value = unsafe { *caller.wrapping_add(self.path.get() as usize) };
        let is_call = self.call.get() == word(op, ret, value);
        let is_lock = [lock as u64, REST].contains(&self.lock.get());
        let left = self.left.get();
        if !is_call || !is_lock || left == 0 {
            return None;
        }
        self.left.set(left - 1);
        Some(self.row.get())
    }
}

/// Combines what must be equal in two calls. `value` is the word that tells the path. If it is the
/// return address, the result is exact, and so it is for two calls with one return address.
#[inline(always)]
fn word(op: Op, ret: usize, value: usize) -> u64 {
    ((ret as u64) << 8 | op as u64) ^ (ret ^ value).rotate_left(37) as u64
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    const RET: usize = 0x40_1234;
    static STACK: usize = RET;

    /// A call with the return address [`RET`], which has only one path.
    fn call(caller: *const usize) -> Noted {
        Noted { op: Op::MutexLock, caller, ret: RET, path: 0, value: RET }
    }

    fn row(lock: u64, calls: u64) -> Row {
        Row { lock, calls, ..Row::zeroed() }
    }

    fn none() -> Recent {
        // SAFETY: all zero is none.
        unsafe { std::mem::zeroed() }
    }

    #[test]
    fn a_recent_call_is_found_by_operation_lock_and_caller() {
        let (recent, stack) = (none(), [RET; 8]);
        let (caller, mut row) = (&raw const stack[2], row(0x1000, 0));
        // SAFETY: the words of the stack are there.
        let find = |op, lock, caller, ret| unsafe { recent.find(op, lock, caller, ret) };
        assert_eq!(find(Op::MutexLock, 0x1000, caller, RET), None);
        // SAFETY: a row of this thread's own.
        unsafe { recent.note(call(caller), &raw mut row) };
        assert_eq!(find(Op::MutexLock, 0x1000, caller, RET), Some(&raw mut row));
        assert_eq!(find(Op::MutexTrylock, 0x1000, caller, RET), None);
        assert_eq!(find(Op::MutexLock, 0x1001, caller, RET), None);
        assert_eq!(find(Op::MutexLock, 0x1000, &raw const stack[4], RET), None);
        assert_eq!(find(Op::MutexLock, 0x1000, caller, RET + 32), None);
        recent.clear();
        assert_eq!(find(Op::MutexLock, 0x1000, caller, RET), None);
    }

    #[test]
    fn calls_with_different_callers_are_told_apart() {
        let (recent, mut stack) = (none(), [RET; 4]);
        let (mut row, mut other) = (row(0x1000, 0), row(0x1000, 0));
        let caller = stack.as_mut_ptr();
        // SAFETY: a row of this thread's own, and words of the stack that are there.
        unsafe {
            let places = |value| {
                *caller.add(2) = value;
                let first = recent.find(Op::MutexLock, 0x1000, caller, RET);
                (first, recent.find_other(Op::MutexLock, 0x1000, caller, RET))
            };
            let note = |value, row| recent.note(Noted { path: 2, value, ..call(caller) }, row);
            note(0x40_5678, &raw mut row);
            assert_eq!(places(0x40_5678), (Some(&raw mut row), None));
            assert_eq!(places(0x40_5688), (None, None));
            note(0x40_5688, &raw mut other);
            assert_eq!(places(0x40_5678), (Some(&raw mut row), None));
            assert_eq!(places(0x40_5688), (None, Some(&raw mut other)));
        }
    }

    #[test]
    fn call_sites_with_many_locks_have_one_row() {
        let (recent, caller) = (none(), &raw const STACK);
        let mut row = row(REST, 0);
        // SAFETY: as above.
        unsafe { recent.note(call(caller), &raw mut row) };
        for lock in [0x1000, 0x2000, 0x3000] {
            // SAFETY: as above.
            let found = unsafe { recent.find(Op::MutexLock, lock, caller, RET) };
            assert_eq!(found, Some(&raw mut row));
        }
    }

    #[test]
    fn a_call_that_belongs_to_the_sample_is_not_found() {
        let (recent, caller) = (none(), &raw const STACK);
        let mut row = row(0x1000, 89);
        let between = sampling::until_next(0x1000, 89) - 1;
        // SAFETY: as above.
        unsafe { recent.note(call(caller), &raw mut row) };
        // SAFETY: as above.
        let find = || unsafe { recent.find(Op::MutexLock, 0x1000, caller, RET).is_some() };
        assert!((0..between).all(|_| find()));
        assert!(!find(), "this one belongs to the sample");
        assert!(!find(), "nor is any after it, until it was noted");
    }
}
