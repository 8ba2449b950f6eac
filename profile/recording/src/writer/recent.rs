//! Remembers the latest calls of a thread, each with its row. So the row of a repeated call is
//! found with a few comparisons, without a search in a table.
//!
//! A call is noted when one of its operations is sampled, because that takes long anyway. The
//! call's entry counts down the operations until the next sample.
//!
//! Two entries are a *set*, which takes one cache line. A call belongs to the set that its return
//! address and its position on the stack choose, and is usually in the set's first entry, which is
//! all that [`find`](Recent::find) looks at. If calls differ only in their path, some of them are in
//! another set, which depends on the path. If a set has more calls than entries, they use the last
//! entry in turn, and the others are looked up in the tables meanwhile.

use core::cell::Cell;
use core::sync::atomic::{Ordering, compiler_fence};

use super::sampling;
use crate::layout::{REST, Row};
use crate::op::Op;

const SETS: usize = 32;

/// The latest calls of a thread. All zero means no calls.
#[repr(C)]
pub struct Recent {
    sets: [Set; SETS],
}

#[repr(C, align(64))]
struct Set([Entry; 2]);

#[repr(C)]
struct Entry {
    /// The return address, the operation and the path, combined by [`word`]; 0 in an empty entry.
    call: Cell<u64>,
    /// The lock, or [`REST`].
    lock: Cell<u64>,
    /// The row that counts the call. The highest 16 bits are the distance in words from the return
    /// address to the word of the stack that tells the call's path. For most calls it is 0: the
    /// return address itself.
    row: Cell<*mut Row>,
    /// The address on the stack at which the return address lies. The lowest 16 bits are how many
    /// operations come before the next one that is sampled.
    caller: Cell<u64>,
}

/// The shift of an address to the side of a number of 16 bits. Addresses of programs have at most 47
/// bits.
const ASIDE: u32 = 16;

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
    /// The row of an operation. `None` if its call is not in the first entry for it, or if the
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
        unsafe { self.set(caller, ret).0[0].find(op, lock, caller, ret) }
    }

    /// Like [`find`](Self::find), in the other entries in which the call may be.
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
        let Set(entries) = self.set(caller, ret);
        // SAFETY: by this function's own condition, and as in `Entry::find`.
        unsafe {
            if let Some(row) = entries[1].find(op, lock, caller, ret) {
                return Some(row);
            }
            let distance = entries.iter().find_map(|entry| entry.path_at(caller))?;
            let value = *caller.wrapping_add(distance);
            let Set(entries) = self.set_of_path(caller, ret, value);
            let find = |entry: &Entry| entry.find(op, lock, caller, ret);
            find(&entries[0]).or_else(|| find(&entries[1]))
        }
    }

    /// Notes the call of a sampled operation, and the row that counts the call's operations. It is
    /// not noted if the word of its path lies too far away.
    ///
    /// # Safety
    /// The row is this thread's own. The thread is in the call, and the word of its path lies on
    /// the thread's stack.
    pub unsafe fn note(&self, call: Noted, row: *mut Row) {
        let Noted { op, caller, ret, path, value } = call;
        let Ok(path) = u16::try_from(path) else { return };
        // SAFETY: by this function's own condition.
        let (lock, calls) = unsafe { ((*row).lock, (*row).calls) };
        let word = word(op, ret, value);
        let Set(mine) = self.set(caller, ret);
        let other = if path == 0 { &[] } else { &self.set_of_path(caller, ret, value).0[..] };
        let fits = |entry: &&Entry| {
            let is_this = entry.is_at(caller) && entry.lock.get() == lock;
            entry.call.get() == 0 || entry.call.get() == word && is_this
        };
        let last = other.last().unwrap_or(&mine[1]);
        let entry = mine.iter().chain(other).find(fits).unwrap_or(last);
        // A signal handler that runs in between finds an empty entry.
        entry.call.set(0);
        entry.caller.set(0);
        compiler_fence(Ordering::SeqCst);
        entry.lock.set(lock);
        entry.row.set(row.map_addr(|at| at | usize::from(path) << (usize::BITS - ASIDE)));
        compiler_fence(Ordering::SeqCst);
        let left = u16::try_from(sampling::until_next(lock, calls) - 1).unwrap_or(u16::MAX);
        entry.caller.set((caller.addr() as u64) << ASIDE | u64::from(left));
        entry.call.set(word);
    }

    /// Forgets all calls, because rows have moved, or because the thread has ended: the next one may
    /// have a smaller stack in the same place.
    pub fn clear(&self) {
        for entry in self.sets.iter().flat_map(|Set(entries)| entries) {
            entry.call.set(0);
            entry.caller.set(0);
        }
    }

    #[inline(always)]
    fn set(&self, caller: *const usize, ret: usize) -> &Set {
        &self.sets[Self::index(caller, ret) % SETS]
    }

    /// Another set than [`set`](Self::set), by the value that tells the path.
    #[inline(always)]
    fn set_of_path(&self, caller: *const usize, ret: usize, value: usize) -> &Set {
        let distance = 1 + value % (SETS - 1);
        &self.sets[(Self::index(caller, ret) + distance) % SETS]
    }

    /// Mixes the addresses' lowest bits, which differ most. Inlined code may call at the same
    /// distance again and again, so the next bits are mixed in.
    #[inline(always)]
    fn index(caller: *const usize, ret: usize) -> usize {
        ret ^ ret >> 5 ^ caller.addr() >> 4
    }
}

impl Entry {
    /// Whether a call's return address lies where that of the noted call lies.
    #[inline(always)]
    fn is_at(&self, caller: *const usize) -> bool {
        self.caller.get() >> ASIDE == caller.addr() as u64
    }

    /// The distance of the word that tells the path of a call with this `caller`; `None` if the entry
    /// has none.
    #[inline(always)]
    fn path_at(&self, caller: *const usize) -> Option<usize> {
        let distance = distance(self.row_before_caller());
        (distance != 0 && self.is_at(caller)).then_some(distance)
    }

    /// The row and the distance. They are read before the caller: if a signal handler notes another
    /// call in between, the caller differs. So a distance is never used with another `caller`, whose
    /// stack may end before it.
    #[inline(always)]
    fn row_before_caller(&self) -> *mut Row {
        let row = self.row.get();
        compiler_fence(Ordering::SeqCst);
        row
    }

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
        let row = self.row_before_caller();
        if !self.is_at(caller) {
            return None;
        }
        // SAFETY: the thread was in a call with the same `caller` when this distance was noted, and
        // the word lies between `caller` and the end of the stack.
        let value = unsafe { *caller.wrapping_add(distance(row)) };
        let is_call = self.call.get() == word(op, ret, value);
        let is_lock = [lock as u64, REST].contains(&self.lock.get());
        let left = self.caller.get() as u16;
        if !is_call || !is_lock || left == 0 {
            return None;
        }
        // SAFETY: the lowest 16 bits of a word of this thread's own. Only they are written, since a
        // signal handler may have noted another call meanwhile.
        unsafe { self.caller.as_ptr().cast::<u16>().write(left - 1) };
        Some(row.map_addr(|at| at << ASIDE >> ASIDE))
    }
}

/// The distance in a row's highest bits.
#[inline(always)]
fn distance(row: *mut Row) -> usize {
    row.addr() >> (usize::BITS - ASIDE)
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

    /// Three calls of one set: the first keeps its entry, and the others use the last one in turn.
    #[test]
    fn the_first_call_of_a_set_keeps_its_entry() {
        let (recent, mut stack) = (none(), [RET; 1]);
        let caller = stack.as_mut_ptr();
        let rets = [RET, RET ^ SETS << 5, RET ^ SETS << 6];
        let sets = rets.map(|ret| Recent::index(caller, ret) % SETS);
        assert_eq!(sets, [sets[0]; 3], "made so that they collide");
        let mut rows = [row(0x1000, 0); 3];
        let note = |at: usize, row: &mut Row| {
            // SAFETY: a row of this thread's own.
            unsafe { recent.note(Noted { ret: rets[at], value: rets[at], ..call(caller) }, row) };
        };
        let places = || {
            rets.map(|ret| {
                // SAFETY: the word of the stack is there; it is the return address.
                unsafe {
                    *caller = ret;
                    let first = recent.find(Op::MutexLock, 0x1000, caller, ret).is_some();
                    (first, recent.find_other(Op::MutexLock, 0x1000, caller, ret).is_some())
                }
            })
        };
        for (at, row) in rows.iter_mut().enumerate() {
            note(at, row);
        }
        assert_eq!(places(), [(true, false), (false, false), (false, true)]);
        note(1, &mut rows[1]);
        assert_eq!(places(), [(true, false), (false, true), (false, false)]);
    }

    #[test]
    fn further_paths_of_a_call_are_in_another_set() {
        let (recent, mut stack) = (none(), [RET; 4]);
        let caller = stack.as_mut_ptr();
        let mut rows = [row(0x1000, 0); 4];
        let values = [0x40_5678, 0x40_5688, 0x40_5690, 0x40_5691];
        // SAFETY: rows of this thread's own, and words of the stack that are there.
        unsafe {
            for (value, row) in values.into_iter().zip(&mut rows) {
                *caller.add(2) = value;
                recent.note(Noted { path: 2, value, ..call(caller) }, row);
            }
            for (value, row) in values.into_iter().zip(&mut rows) {
                *caller.add(2) = value;
                let first = recent.find(Op::MutexLock, 0x1000, caller, RET);
                let found = first.or_else(|| recent.find_other(Op::MutexLock, 0x1000, caller, RET));
                assert_eq!(found, Some(&raw mut *row));
            }
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
