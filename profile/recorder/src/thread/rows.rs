//! Chooses the row of a thread's tables that counts an operation.
//!
//! A *place* is the return address of a call, the operation, and the depth of the stack: two paths
//! to one call usually differ in depth. If they don't, [`paths`] tells them apart.
//!
//! Nearly all places use one lock, or a few. For these, every lock has a row of its own, with exact
//! counts. A place with many locks (a hash table's, a tree's) would have thousands of rows, which
//! don't fit into the cache. There, one row has the exact sum for all locks without a row of their
//! own, and *samples* show the distribution over the locks:
//! one acquisition in 128 (later in 512) moves what its place has counted since the last sample to
//! the row of its lock. So a place's sum stays exact, and a lock's share is an estimate without
//! bias.
//!
//! ```text
//! places   (ret, op, depth) --> lock A   the row of the first lock that was used here
//!                           --> REST     all that have no row in `locks`
//!          (ret, op)        --> Site     how many rows and depths there are: a note
//!          (ret, op, depth) --> Fork     which word of the stack tells paths apart: a note
//! locks    (lock, ret, op, depth)         the others
//! ```
//!
//! Calls that wait are slow anyway, so they are always counted in the row of their lock. Refused
//! tries are not, and are counted like acquisitions.

use core::ptr::null_mut;

use syncline_recording::layout::{REST, Row};
use syncline_recording::writer::sampling::weight;
use syncline_recording::writer::{add, add_one};
use syncline_recording::{Class, Op};

use crate::recorder::stacks;
use crate::thread::adding::{captured, made};
use crate::thread::call::{Call, Caller, counting, counting_here, own, place};
use crate::thread::{self, ThreadState, attach, paths};
use crate::unwind::tools::Registers;

/// The row that counts an operation which is about to be tried, and whether the operation is
/// sampled.
#[derive(Clone, Copy)]
pub struct Spot(*mut Row);

impl Spot {
    /// A tag in the lowest bit of a row's address: the operation is sampled.
    const SAMPLED: usize = 1;

    const NOWHERE: Spot = Spot(null_mut());

    /// The row, if it exists and the operation only has to be counted.
    #[inline(always)]
    pub fn plain(self) -> Option<*mut Row> {
        (!self.0.is_null() && !self.is_sampled()).then_some(self.0)
    }

    /// The row; `None` if the operation can't be counted, which has been noted already.
    pub fn row(self) -> Option<*mut Row> {
        (!self.0.is_null()).then(|| self.0.map_addr(|address| address & !Spot::SAMPLED))
    }

    /// Whether the operation is sampled.
    #[inline(always)]
    pub fn is_sampled(self) -> bool {
        self.0.addr() & Spot::SAMPLED != 0
    }
}

/// Finds the row that counts an operation, before the operation is tried: slow work is done while
/// the thread does not have the lock yet.
///
/// A signal handler may make the table grow before the operation is counted. Then the operation is
/// counted in the old table, whose counts are collected when the table is given back.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(always)]
pub unsafe fn spot(op: Op, lock: usize, caller: Caller) -> Spot {
    // SAFETY: by this function's own condition; rows of this thread's own table.
    unsafe {
        if let Some(state) = thread::state()
            && let Some(row) = state.recent.find(op, lock, caller, *caller)
        {
            return Spot(row);
        }
        at_home(op, lock, caller)
    }
}

/// The path of [`spot`] for a call that is not in the first of the recent entries. Its row is
/// usually in the first slot searched.
#[inline(never)]
unsafe fn at_home(op: Op, lock: usize, caller: Caller) -> Spot {
    // SAFETY: as in `spot`.
    unsafe {
        if let Some(state) = thread::state() {
            if let Some(row) = state.recent.find_other(op, lock, caller, *caller) {
                return Spot(row);
            }
            let call = Call::new(state, op, lock, caller);
            if let Some(row) = counting_here(state, &call)
                && weight((*row).lock, (*row).calls).is_none()
            {
                return Spot(row);
            }
        }
        elsewhere(op, lock, caller)
    }
}

/// The path of [`spot`] if the row has to be made or belongs to a path, or if the operation is
/// sampled.
#[inline(never)]
unsafe fn elsewhere(op: Op, lock: usize, caller: Caller) -> Spot {
    let Some(state) = attach::current() else { return Spot::NOWHERE };
    // SAFETY: the state is this thread's own; `caller` by the caller's own condition.
    unsafe {
        let mut call = paths::told_apart(state, Call::new(state, op, lock, caller));
        let row_of = |call: Call| match counting(state, &call) {
            Some(row) => row,
            None => made(state, call, false, Registers::here()),
        };
        let mut row = row_of(call);
        // Creations are never sampled: they are counted for single objects, or stay in the rest.
        if row.is_null()
            || op.class() == Class::Create
            || weight((*row).lock, (*row).calls).is_none()
        {
            return Spot(row);
        }
        if let Some(on_path) = paths::fork(state, call, row) {
            call = on_path;
            row = row_of(call);
            if row.is_null() {
                return Spot::NOWHERE;
            }
        }
        state.recent.note(call.noted(), row);
        if (*row).lock == REST {
            row = match own(state, &call) {
                Some(row) => row,
                None => made(state, call, true, Registers::here()),
            };
        }
        Spot(row.map_addr(|at| at | usize::from(!row.is_null())))
    }
}

/// The row of the lock itself for an operation, which is made if there is none. Null if it can't be
/// made; then the operation is counted as dropped or, in a signal handler that interrupted the
/// recorder, as interrupted.
///
/// # Safety
/// Same requirements as [`spot`].
#[inline(never)]
pub unsafe fn of(op: Op, lock: usize, caller: Caller) -> *mut Row {
    let Some(state) = attach::current() else { return null_mut() };
    // SAFETY: the state is this thread's own; `caller` by this function's own condition.
    unsafe {
        let call = paths::told_apart(state, Call::new(state, op, lock, caller));
        let row_of =
            |call| own(state, &call).unwrap_or_else(|| made(state, call, true, Registers::here()));
        let row = row_of(call);
        paths::fork(state, call, row).map_or(row, row_of)
    }
}

/// The number of a call's stack. It may differ from the stack of the call's row, which is the first
/// one of this depth: a function may call a library's wrapper at several lines.
///
/// # Safety
/// `row` is a row of this thread for a call with this `caller`, which is a [`Caller`].
#[inline(never)]
pub unsafe fn stack_of(row: *const Row, caller: Caller) -> u32 {
    // SAFETY: by this function's own condition.
    unsafe {
        let first = (*row).stack;
        if stacks::is_here(first, caller) {
            return first;
        }
        let Some(state) = attach::current() else { return first };
        captured(state, caller, Registers::here()).unwrap_or(first)
    }
}

/// Counts a sampled operation. If its place has a row for many locks, moves what that row has
/// counted since the last sample to the row of this lock.
///
/// This takes several steps, during which both rows must not move. So the thread is marked busy,
/// and a signal handler adds no row. What a handler counts at the same place meanwhile is left to
/// the next sample. If this operation belongs to such a handler, it is left to the next sample as
/// well.
///
/// Returns the operation's [`weight`]: how often it counts in the sums of samples.
///
/// # Safety
/// `row` is the row that [`spot`] gave for this operation.
pub unsafe fn count_sampled(state: &ThreadState, row: *mut Row, op: Op, caller: Caller) -> u32 {
    let guard = state.busy.set();
    // SAFETY: by this function's own condition, rows of this thread's own tables.
    unsafe {
        let call = paths::told_apart(state, Call::new(state, op, (*row).lock as usize, caller));
        let Some(place) = place(state, &call).filter(|&place| (*place).lock == REST) else {
            let weight = weight((*row).lock, (*row).calls);
            add_one(&raw mut (*row).calls);
            return weight.unwrap_or(1);
        };
        let weight = weight(REST, (*place).calls);
        add_one(&raw mut (*place).calls);
        // The row is searched again: a handler may have made the table grow since it was found.
        if let (Some(_), Some(row)) = (guard, own(state, &call)) {
            let calls = (*place).calls;
            add(&raw mut (*row).calls, calls - (*place).held_ticks);
            (*place).held_ticks = calls;
        }
        weight.unwrap_or(1)
    }
}
