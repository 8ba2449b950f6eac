//! Where an operation is counted: which row of a thread's tables.
//!
//! A *place* is the return address of a call, the operation, and how deep the stack was: two paths
//! to one call mostly differ in depth. Nearly all places use one lock, or a few; for these every
//! lock has a row of its own, and all that it counts is exact. A place with many locks (a hash
//! table's, a tree's) would have rows by the thousand, which don't fit into the cache: there one
//! row counts for all locks but those with a row of their own, exactly, and a *sample* shows the
//! distribution over them: one acquisition in 128 takes what its place has counted since the last
//! one into the row of its lock. So a place's sum stays exact, and a lock's share is an estimate
//! without bias.
//!
//! ```text
//! places   (ret, op, depth) --> lock A   the row of the first lock that was used here
//!                           --> REST     all that have no row in `locks`
//!          (ret, op)        --> Site     how many rows and depths there are: a note
//! locks    (lock, ret, op, depth)         the others
//! ```
//!
//! What waits, or is refused, is always counted in the row of its lock: it is slow anyway.

use core::ptr::null_mut;

use syncline_recording::layout::{REST, Row};
use syncline_recording::writer::sampling::weight;
use syncline_recording::writer::{add, add_one, hash_of_lock, hash_of_place};
use syncline_recording::{Class, Op};

use crate::thread::adding::made;
use crate::thread::call::{Call, Caller, counting, own, place};
use crate::thread::{self, ThreadState, attach};
use crate::unwind::tools::Registers;

/// The row in which an operation that is about to be tried will be counted, and whether it belongs
/// to the sample.
#[derive(Clone, Copy)]
pub struct Spot(*mut Row);

impl Spot {
    /// The lowest bit of a row's address: the operation belongs to the sample.
    const SAMPLED: usize = 1;

    const NOWHERE: Spot = Spot(null_mut());

    /// The row, if it exists and nothing is to be done but to count.
    #[inline(always)]
    pub fn plain(self) -> Option<*mut Row> {
        (!self.0.is_null() && !self.is_sampled()).then_some(self.0)
    }

    /// The row; `None` if the operation can't be counted, which was noted.
    pub fn row(self) -> Option<*mut Row> {
        (!self.0.is_null()).then(|| self.0.map_addr(|address| address & !Spot::SAMPLED))
    }

    /// Whether the operation belongs to the sample.
    #[inline(always)]
    pub fn is_sampled(self) -> bool {
        self.0.addr() & Spot::SAMPLED != 0
    }
}

/// Finds where an operation is to be counted, before it is tried: all that takes long is done
/// while the thread does not have the lock yet.
///
/// If a signal handler makes the table grow before the operation is counted, that is found in the
/// table before, when this is given back.
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

/// The path of [`spot`] for a call that was not noted lately: its row is mostly at home.
#[inline(never)]
unsafe fn at_home(op: Op, lock: usize, caller: Caller) -> Spot {
    // SAFETY: as in `spot`.
    unsafe {
        if let Some(state) = thread::state()
            && state.places.is_there()
        {
            let call = Call::new(state, op, lock, caller);
            let place = state.places.home(hash_of_place(call.ret, call.key));
            let (row, counts_it) = match (*place).lock {
                of if of == lock as u64 || of == REST => (place, true),
                _ if !state.locks.is_there() => (place, false),
                _ => {
                    let row = state.locks.home(hash_of_lock(lock, call.ret, call.key));
                    (row, (*row).lock == lock as u64)
                }
            };
            let are_there = call.is_at(&*place) && call.is_at(&*row);
            if are_there && counts_it && weight((*row).lock, (*row).calls).is_none() {
                return Spot(row);
            }
        }
        elsewhere(op, lock, caller)
    }
}

/// The path of [`spot`] if the row is not that of the place, or not at its home, or the operation
/// belongs to the sample.
#[inline(never)]
unsafe fn elsewhere(op: Op, lock: usize, caller: Caller) -> Spot {
    let Some(state) = attach::current() else { return Spot::NOWHERE };
    // SAFETY: the state is this thread's own; `caller` by the caller's own condition.
    unsafe {
        let call = Call::new(state, op, lock, caller);
        let mut row = match counting(state, &call) {
            Some(row) => row,
            None => made(state, call, false, Registers::here()),
        };
        // What is counted of creations is of single objects, or stays in the rest.
        if row.is_null()
            || op.class() == Class::Create
            || weight((*row).lock, (*row).calls).is_none()
        {
            return Spot(row);
        }
        state.recent.note(op, caller, call.ret, row);
        if (*row).lock == REST {
            row = match own(state, &call) {
                Some(row) => row,
                None => made(state, call, true, Registers::here()),
            };
        }
        Spot(row.map_addr(|at| at | usize::from(!row.is_null())))
    }
}

/// The lock's own row for an operation, made if there is none; null if it can't be made, and then
/// the operation counts as dropped.
///
/// # Safety
/// Same requirements as [`spot`].
#[inline(never)]
pub unsafe fn of(op: Op, lock: usize, caller: Caller) -> *mut Row {
    let Some(state) = attach::current() else { return null_mut() };
    // SAFETY: the state is this thread's own; `caller` by this function's own condition.
    unsafe {
        let call = Call::new(state, op, lock, caller);
        own(state, &call).unwrap_or_else(|| made(state, call, true, Registers::here()))
    }
}

/// Counts an operation of the sample, and takes what its place has counted since the last one for
/// all its locks into the row of this one.
///
/// It takes several steps, in which both rows have to stay where they are: so a signal handler
/// finds the thread busy, and adds no row. What it counts at the same place is left to the next
/// operation of the sample, and so is this one if it belongs to a handler itself.
///
/// Returns for how many the operation stands, as [`weight`] does.
///
/// # Safety
/// `row` is what [`spot`] gave for this operation.
pub unsafe fn count_sampled(state: &ThreadState, row: *mut Row, op: Op, caller: Caller) -> u32 {
    let guard = state.busy.set();
    // SAFETY: by this function's own condition, rows of this thread's own tables.
    unsafe {
        let call = Call::new(state, op, (*row).lock as usize, caller);
        let Some(place) = place(state, &call).filter(|&place| (*place).lock == REST) else {
            let weight = weight((*row).lock, (*row).calls);
            add_one(&raw mut (*row).calls);
            return weight.unwrap_or(1);
        };
        add_one(&raw mut (*place).calls);
        // The row is searched again: a handler may have made the table grow since it was found.
        if let (Some(_), Some(row)) = (guard, own(state, &call)) {
            let calls = (*place).calls;
            add(&raw mut (*row).calls, calls - (*place).held_ticks);
            (*place).held_ticks = calls;
        }
        // A place of many locks is never thinned.
        1
    }
}
