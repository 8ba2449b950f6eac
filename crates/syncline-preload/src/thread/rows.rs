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

use syncline_interpose::preserving_errno;
use syncline_recording::Op;
use syncline_recording::layout::{Header, NestRecord, Row, UNIT, WaitRecord};

use crate::recorder::{self, stacks};
use crate::thread::table::{self, is_displaced};
use crate::thread::{ThreadState, attach};
use crate::tls;
use crate::unwind::tools::{self, Cache, Registers};

/// Rows that one call site has for one lock before all further depths share a row.
const PATHS: u32 = 8;
/// The depth of a row that stands for all further depths.
const ANY_DEPTH: u32 = u32::MAX;

/// Whether a row is the one looked for.
///
/// # Safety
/// The row is this thread's own.
#[inline(always)]
unsafe fn is(row: *mut Row, lock: usize, ret: usize, key: u64) -> bool {
    // SAFETY: by this function's own condition.
    unsafe { ((*row).lock ^ lock as u64) | ((*row).ret ^ ret as u64) | ((*row).key ^ key) == 0 }
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
) -> Option<(&'static ThreadState, *mut Row)> {
    let state = tls::state()?;
    let table = state.table.get();
    if table.is_null() {
        return None;
    }
    // SAFETY: a table that is not null has `mask + 1` rows; `caller` by this function's own
    // condition.
    unsafe {
        let ret = *caller;
        let depth = (state.stack_high.get().wrapping_sub(caller as usize)) as u32;
        let index = state.order.get().place(lock, ret) & state.mask.get();
        let row = table.add(index as usize);
        is(row, lock, ret, Row::key(op, depth)).then_some((state, row))
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
///
/// # Safety
/// The state is this thread's own, as in all that follows.
pub unsafe fn find(state: &ThreadState, lock: usize, ret: usize, key: u64) -> Option<*mut Row> {
    // SAFETY: rows of one's own table. Rows are never taken out, so that a row is not there
    // if the place where it would have been put is empty.
    unsafe {
        let row = places(state, lock, ret).find(|&row| (*row).key == 0 || is(row, lock, ret, key));
        row.filter(|&row| (*row).key != 0)
    }
}

/// The places where a row may be, in the order in which they are tried.
unsafe fn places(state: &ThreadState, lock: usize, ret: usize) -> impl Iterator<Item = *mut Row> {
    let (table, mask) = (state.table.get(), state.mask.get());
    let there = !table.is_null();
    let places = state.order.get().places(lock, ret).take_while(move |_| there);
    // The mask keeps the index within the table.
    places.map(move |place| table.wrapping_add((place & mask) as usize))
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
        let depth = (state.stack_high.get().wrapping_sub(caller as usize)) as u32;
        let any_depth = || find(state, lock, ret, Row::key(op, ANY_DEPTH));
        if let Some(row) = find(state, lock, ret, Row::key(op, depth)).or_else(any_depth) {
            return row;
        }
        let Some(_guard) = Busy::enter(state) else {
            recorder::count(offset_of!(Header, interrupted_operations));
            return null_mut();
        };
        let call = Call { op, lock, ret, depth, from: Registers::here() };
        let row = preserving_errno(|| tools::with(|cache| add(state, &call, cache)));
        if row.is_none() {
            recorder::count(offset_of!(Header, dropped_operations));
        }
        row.unwrap_or(null_mut())
    }
}

/// Marks a state as being changed in steps.
struct Busy<'a>(&'a ThreadState);

impl Busy<'_> {
    /// None if it is marked already: this is a signal handler that interrupted the change.
    fn enter(state: &ThreadState) -> Option<Busy<'_>> {
        if state.busy.load(Ordering::Relaxed) != 0 {
            return None;
        }
        state.busy.store(1, Ordering::Relaxed);
        // The only other party is a signal handler on this thread.
        compiler_fence(Ordering::SeqCst);
        Some(Busy(state))
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.0.busy.store(0, Ordering::Relaxed);
    }
}

/// A call that has no row yet.
struct Call {
    op: Op,
    lock: usize,
    ret: usize,
    depth: u32,
    from: Registers,
}

unsafe fn add(state: &ThreadState, call: &Call, cache: Option<&mut Cache>) -> Option<*mut Row> {
    // SAFETY: this thread's own state, marked busy.
    unsafe {
        for misfit in [false, true] {
            table::make_room(state, misfit);
            let mut paths = 0;
            for (tries, row) in places(state, call.lock, call.ret).enumerate() {
                if (*row).key == 0 {
                    fill(state, row, call, paths, cache);
                    state.displaced.set(state.displaced.get() + u32::from(is_displaced(tries)));
                    return Some(row);
                }
                let here = ((*row).lock, (*row).ret) == (call.lock as u64, call.ret as u64);
                paths += u32::from(here && (*row).op() == Some(call.op));
            }
        }
    }
    None
}

unsafe fn fill(
    state: &ThreadState,
    row: *mut Row,
    call: &Call,
    paths: u32,
    cache: Option<&mut Cache>,
) {
    let depth = if paths >= PATHS { ANY_DEPTH } else { call.depth };
    // SAFETY: an empty row of this thread's own table; `newest` is a row of it, too.
    unsafe {
        (*row).lock = call.lock as u64;
        (*row).ret = call.ret as u64;
        (*row).stack = stacks::capture(call.from, call.ret, cache);
        // A row is complete once its key is there: Release, for readers of the file.
        let key = AtomicU64::from_ptr(&raw mut (*row).key);
        key.store(Row::key(call.op, depth), Ordering::Release);
        state.rows.set(state.rows.get() + 1);
        (*state.record.get()).rows = state.rows.get();
    }
}

/// The wait record of a row, made if there is none; none if there is no room, or this is a
/// signal handler that interrupted the recorder.
///
/// # Safety
/// `state` and `row` are this thread's own.
pub unsafe fn waits_of(state: &ThreadState, row: *mut Row) -> Option<*mut WaitRecord> {
    // SAFETY: by this function's own condition.
    unsafe { record_of(state, &raw mut (*row).wait) }
}

/// The nest record of a row, as [`waits_of`].
///
/// # Safety
/// As of [`waits_of`].
pub unsafe fn nest_of(state: &ThreadState, row: *mut Row) -> Option<*mut NestRecord> {
    // SAFETY: by this function's own condition.
    unsafe { record_of(state, &raw mut (*row).nest) }
}

/// The record whose unit a word of a row has, made if that is 0.
unsafe fn record_of<T>(state: &ThreadState, word: *mut u32) -> Option<*mut T> {
    const PAGE: u64 = 4096;
    let size = size_of::<T>() as u64;
    let recorder = recorder::existing()?;
    // SAFETY: this thread's own state and row.
    unsafe {
        if *word == 0 {
            let _guard = Busy::enter(state)?;
            if state.next_record.get() + size > state.end_of_records.get() {
                let unit = recorder.file().new_pages(PAGE)?;
                state.next_record.set(unit * UNIT);
                state.end_of_records.set(unit * UNIT + PAGE);
            }
            *word = (state.next_record.get() / UNIT) as u32;
            state.next_record.set(state.next_record.get() + size);
        }
        Some(recorder.file().unit(u64::from(*word)).cast())
    }
}
