//! A thread's table of rows: one for each (lock, call site, stack depth, operation).
//!
//! Open addressing, in the recording's file; [`table`] says where a row belongs and how the
//! table grows.
//!
//! [`table`]: crate::thread::table
//!
//! Two paths to one call site mostly differ in stack depth, so the depth is part of what a
//! row stands for. Deep recursion would have as many rows as depths; from the
//! [`PATHS`]th on they share one row.

use core::mem::offset_of;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use syncline_recording::Op;
use syncline_recording::layout::{Header, Row, UNIT, WaitRecord};

use crate::recorder::{self, stacks};
use crate::thread::table::{self, REACH};
use crate::thread::{ThreadState, attach};

/// Rows that one call site has for one lock before all further depths share a row.
const PATHS: u32 = 8;
/// The depth of a row that stands for all further depths.
const ANY_DEPTH: u32 = u32::MAX;

#[inline(always)]
fn is(row: &Row, lock: usize, ret: usize, key: u64) -> bool {
    (row.lock ^ lock as u64) | (row.ret ^ ret as u64) | (row.key ^ key) == 0
}

/// The thread's state and the row of an operation, if the row is where it belongs: what
/// nearly every operation finds.
///
/// # Safety
/// `caller` is the stack pointer at the entry of the interposed function, which points to
/// the return address.
#[inline(always)]
pub unsafe fn known(
    op: Op,
    lock: usize,
    caller: *const usize,
) -> Option<(&'static mut ThreadState, *mut Row)> {
    // SAFETY: a state that the thread has is valid and its own; a table that is not null has
    // `mask + 1` rows; `caller` by this function's own condition.
    unsafe {
        let state = crate::tls::state().as_mut()?;
        if state.table.is_null() {
            return None;
        }
        let ret = *caller;
        let depth = (state.stack_high.wrapping_sub(caller as usize)) as u32;
        let index = state.order.place(lock, ret) & state.mask;
        let row = state.table.add(index as usize);
        is(&*row, lock, ret, Row::key(op, depth)).then_some((state, row))
    }
}

/// The row of an operation, made if there is none; null if it can't be had, and then the
/// operation is counted as dropped.
///
/// # Safety
/// As of [`known`].
#[inline(always)]
pub unsafe fn of(op: Op, lock: usize, caller: *const usize) -> *mut Row {
    // SAFETY: by this function's own condition.
    unsafe {
        match known(op, lock, caller) {
            Some((_, row)) => row,
            None => find_or_add(op, lock, caller),
        }
    }
}

/// The row of an operation, if there is one.
pub unsafe fn find(state: &ThreadState, lock: usize, ret: usize, key: u64) -> *mut Row {
    if state.table.is_null() {
        return null_mut();
    }
    let home = state.order.place(lock, ret);
    for step in 0..REACH {
        // SAFETY: the mask keeps the index within the table.
        let row = unsafe { state.table.add(((home + step) & state.mask) as usize) };
        // SAFETY: rows of one's own table are written by nobody else.
        if is(unsafe { &*row }, lock, ret, key) {
            return row;
        }
    }
    null_mut()
}

/// [`of`], for a row that is not where it belongs.
///
/// # Safety
/// As of [`known`].
#[inline(never)]
pub unsafe fn find_or_add(op: Op, lock: usize, caller: *const usize) -> *mut Row {
    let Some(state) = attach::current() else { return null_mut() };
    // SAFETY: the state is this thread's own; `caller` by this function's own condition.
    unsafe {
        let ret = *caller;
        let depth = ((*state).stack_high.wrapping_sub(caller as usize)) as u32;
        let found = find(&*state, lock, ret, Row::key(op, depth));
        if !found.is_null() {
            return found;
        }
        let any = find(&*state, lock, ret, Row::key(op, ANY_DEPTH));
        if !any.is_null() {
            return any;
        }
        let Some(_guard) = Busy::enter(state) else {
            recorder::count(offset_of!(Header, interrupted_operations));
            return null_mut();
        };
        let row = add(&mut *state, op, lock, ret, depth);
        if row.is_null() {
            recorder::count(offset_of!(Header, dropped_operations));
        }
        row
    }
}

/// Marks a state as being changed in steps.
struct Busy(*mut ThreadState);

impl Busy {
    unsafe fn enter(state: *mut ThreadState) -> Option<Busy> {
        // SAFETY: the state is this thread's own.
        let busy = unsafe { &(*state).busy };
        if busy.load(Ordering::Relaxed) != 0 {
            return None;
        }
        busy.store(1, Ordering::Relaxed);
        // The only other party is a signal handler on this thread.
        compiler_fence(Ordering::SeqCst);
        Some(Busy(state))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        // SAFETY: the state is this thread's own.
        unsafe { (*self.0).busy.store(0, Ordering::Relaxed) };
    }
}

unsafe fn add(state: &mut ThreadState, op: Op, lock: usize, ret: usize, depth: u32) -> *mut Row {
    loop {
        let crowded = u64::from(state.rows) * 8 > (state.mask + 1) * 5;
        // SAFETY: this thread's own table.
        let (empty, paths) = unsafe { probe(state, op, lock, ret) };
        let depth = if paths >= PATHS { ANY_DEPTH } else { depth };
        match empty {
            Some(row) if !crowded => {
                // SAFETY: an empty row of this thread's own table.
                unsafe { fill(state, row, lock, ret, Row::key(op, depth)) };
                return row;
            }
            _ => {
                // SAFETY: this thread's own state, marked busy.
                let grown = unsafe { table::grow(state) };
                if !grown {
                    return null_mut();
                }
            }
        }
    }
}

/// The first empty row within reach, and how many rows this call site has for this lock.
unsafe fn probe(state: &ThreadState, op: Op, lock: usize, ret: usize) -> (Option<*mut Row>, u32) {
    let home = state.order.place(lock, ret);
    let mut paths = 0;
    for step in 0..REACH {
        // SAFETY: the mask keeps the index within the table, which is this thread's own.
        let row = unsafe { state.table.add(((home + step) & state.mask) as usize) };
        // SAFETY: as above.
        let r = unsafe { &*row };
        if r.key == 0 {
            return (Some(row), paths);
        }
        if r.lock == lock as u64 && r.ret == ret as u64 && r.op() == Some(op) {
            paths += 1;
        }
    }
    (None, paths)
}

unsafe fn fill(state: &mut ThreadState, row: *mut Row, lock: usize, ret: usize, key: u64) {
    // SAFETY: an empty row of this thread's own table; `newest` is a row of it, too.
    unsafe {
        (*row).lock = lock as u64;
        (*row).ret = ret as u64;
        (*row).stack = stacks::capture(ret);
        (*row).outer = state.held.newest().map_or(0, |outer| (*outer).stack);
        // A row is complete once its key is there: Release, for readers of the file.
        AtomicU64::from_ptr(&raw mut (*row).key).store(key, Ordering::Release);
        state.rows += 1;
        (*state.record).rows = state.rows;
    }
}

/// The wait record of a row, made if there is none; null if it can't be had.
///
/// # Safety
/// `state` and `row` are this thread's own.
pub unsafe fn waits_of(state: *mut ThreadState, row: *mut Row) -> *mut WaitRecord {
    const PAGE: u64 = 4096;
    const SIZE: u64 = size_of::<WaitRecord>() as u64;
    let Some(recorder) = recorder::existing() else { return null_mut() };
    // SAFETY: by this function's own condition.
    unsafe {
        if (*row).wait == 0 {
            let Some(_guard) = Busy::enter(state) else { return null_mut() };
            if (*state).wait_next + SIZE > (*state).wait_end {
                let Some(unit) = recorder.file().new_pages(PAGE) else {
                    recorder.count(offset_of!(Header, dropped_waits), 1);
                    return null_mut();
                };
                (*state).wait_next = unit * UNIT;
                (*state).wait_end = unit * UNIT + PAGE;
            }
            (*row).wait = ((*state).wait_next / UNIT) as u32;
            (*state).wait_next += SIZE;
        }
        recorder.file().unit(u64::from((*row).wait)).cast()
    }
}
