//! A call of an operation, and the rows that count it, if they exist. [`rows`] says what a place
//! is.
//!
//! [`rows`]: crate::thread::rows

use syncline_recording::layout::{ANY_DEPTH, NOTE, REST, Row};
use syncline_recording::writer::{Noted, hash_of_lock, hash_of_place};
use syncline_recording::{Class, Op};

use crate::thread::ThreadState;

/// The number of paths that are distinguished for one call of an operation, by their stack depths
/// and callers; all further depths together are one place.
pub const DEPTHS: u32 = 64;
/// The number of rows of single locks that one call of an operation gets, at all its depths
/// together. When it has this many, its other locks are counted by samples.
const EXACT: u32 = 256;
/// The most such rows for a call that creates objects. Creations are not sampled: objects without a
/// row of their own stay in the row for the rest.
const CREATED: u32 = 16_384;
/// The most such rows for a call that creates condition variables. A program may have one in each
/// of its objects, beside a lock, and hardly ever wait for most of them.
const CREATED_CONDVARS: u32 = 2_048;

/// Identifies the program's call: the stack pointer at the entry of the interposed function, which
/// points to the return address.
pub type Caller = *const usize;

/// An operation that the program called.
#[derive(Clone, Copy)]
pub struct Call {
    pub op: Op,
    pub lock: usize,
    pub caller: Caller,
    pub ret: usize,
    pub key: u64,
    /// The distance in words from the return address to the word of the stack that tells the call's
    /// path, and the value of that word. It is another return address if the function that makes the
    /// call is called at several lines.
    pub path: u32,
    pub value: usize,
}

impl Call {
    /// # Safety
    /// `caller` is a [`Caller`].
    #[inline(always)]
    pub unsafe fn new(state: &ThreadState, op: Op, lock: usize, caller: Caller) -> Call {
        let depth = state.stack_high.get().wrapping_sub(caller as usize) as u32;
        // SAFETY: by this function's own condition.
        let ret = unsafe { *caller };
        Call { op, lock, caller, ret, key: Row::key(op, depth), path: 0, value: ret }
    }

    /// The call as the latest ones are remembered.
    pub fn noted(&self) -> Noted {
        let Call { op, caller, ret, path, value, .. } = *self;
        Noted { op, caller, ret, path, value }
    }

    /// Whether a row has this call's place.
    #[inline(always)]
    pub fn is_at(&self, row: &Row) -> bool {
        (row.ret ^ self.ret as u64) | (row.key ^ self.key) == 0
    }

    /// This operation, called at any depth.
    pub fn at_any_depth(self) -> Call {
        Call { key: Row::key(self.op, ANY_DEPTH), path: 0, value: self.ret, ..self }
    }

    /// The key of the note for this call site and operation.
    pub fn key_of_note(&self) -> u64 {
        NOTE | (self.op as u64) << 8
    }

    /// The number of rows of single locks that such a call gets.
    pub fn most(&self) -> u32 {
        match (self.op, self.op.class()) {
            (Op::CondInit, _) => CREATED_CONDVARS,
            (_, Class::Create) => CREATED,
            _ => EXACT,
        }
    }
}

/// The row of a lock at a place or, if the lock has none, the row of the place.
///
/// # Safety
/// The state is this thread's own. This holds for all functions below.
pub unsafe fn find(state: &ThreadState, lock: usize, ret: usize, key: u64) -> Option<*mut Row> {
    let is_there = |row: &Row| (row.ret, row.key) == (ret as u64, key);
    // SAFETY: by this function's own condition.
    unsafe {
        let place = state.places.find(hash_of_place(ret, key), is_there)?;
        in_locks(state, lock, &*place).or(Some(place))
    }
}

/// The row of a call's place.
pub unsafe fn place(state: &ThreadState, call: &Call) -> Option<*mut Row> {
    // SAFETY: the caller's own state; a site's note is this thread's own.
    unsafe {
        place_here(state, call).or_else(|| {
            let site = &*site(state, call)?;
            if site.depths < DEPTHS { None } else { place_here(state, &call.at_any_depth()) }
        })
    }
}

/// The row of a call's place, if the place is not that of all further depths.
#[inline(always)]
unsafe fn place_here(state: &ThreadState, call: &Call) -> Option<*mut Row> {
    // SAFETY: the caller's own state.
    unsafe { state.places.find(hash_of_place(call.ret, call.key), |row| call.is_at(row)) }
}

/// The row that counts a call, if there is one.
pub unsafe fn counting(state: &ThreadState, call: &Call) -> Option<*mut Row> {
    // SAFETY: the caller's own state.
    unsafe { counting_at(state, call, place(state, call)?) }
}

/// Like [`counting`], if the call's place is not that of all further depths.
#[inline(always)]
pub unsafe fn counting_here(state: &ThreadState, call: &Call) -> Option<*mut Row> {
    // SAFETY: the caller's own state.
    unsafe { counting_at(state, call, place_here(state, call)?) }
}

#[inline(always)]
unsafe fn counting_at(state: &ThreadState, call: &Call, place: *mut Row) -> Option<*mut Row> {
    // SAFETY: the caller's own state and row.
    unsafe {
        match (*place).lock {
            REST => Some(place),
            lock if lock == call.lock as u64 => Some(place),
            _ => in_locks(state, call.lock, &*place),
        }
    }
}

/// The row of a call's lock, if it has one.
pub unsafe fn own(state: &ThreadState, call: &Call) -> Option<*mut Row> {
    // SAFETY: the caller's own state.
    unsafe {
        let place = place(state, call)?;
        if (*place).lock == call.lock as u64 {
            return Some(place);
        }
        in_locks(state, call.lock, &*place)
    }
}

/// The row of a lock at the place of a row.
pub unsafe fn in_locks(state: &ThreadState, lock: usize, place: &Row) -> Option<*mut Row> {
    let is = |row: &Row| (row.lock, row.ret, row.key) == (lock as u64, place.ret, place.key);
    // SAFETY: the caller's own state.
    unsafe { state.locks.find(hash_of_lock(lock, place.ret as usize, place.key), is) }
}

/// The note about a call site and operation, at all depths. It lies among the rows of places, and
/// begins like a row.
#[repr(C)]
pub struct Site {
    unused: u64,
    ret: u64,
    key: u64,
    /// How many rows of single locks there are.
    pub locks: u32,
    /// How many depths are distinguished.
    pub depths: u32,
    /// At how many depths the callers are distinguished.
    pub forks: u32,
}

/// The note about a call's site and operation, if there is one.
///
/// # Safety
/// The state is this thread's own.
pub unsafe fn site(state: &ThreadState, call: &Call) -> Option<*mut Site> {
    let (ret, key) = (call.ret, call.key_of_note());
    let is = |row: &Row| (row.ret, row.key) == (ret as u64, key);
    // SAFETY: by this function's own condition; such a row is a note.
    unsafe { state.places.find(hash_of_place(ret, key), is).map(<*mut Row>::cast) }
}
