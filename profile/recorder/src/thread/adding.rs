//! Adds rows for calls that have none.

use core::mem::offset_of;
use core::ptr::null_mut;

use bytemuck::Zeroable;
use syncline_interpose::{preserving_errno, with_signals_blocked};
use syncline_recording::layout::{Header, REST, Row};
use syncline_recording::writer::{Kind, LOCKS, PLACES, Table};

use crate::recorder::{self, stacks};
use crate::thread::ThreadState;
use crate::thread::call::{Call, Caller, DEPTHS, Site, place, site};
use crate::unwind::tools::{self, Cache, Registers};

/// Makes a row for a call that has none. It is a row of the call's lock if `of_lock` asks for that,
/// or if the call's site does not have too many such rows yet. Otherwise it is the row of all locks
/// of the place. (If the place is new, only the number of rows counts.)
pub unsafe fn made(state: &ThreadState, call: Call, of_lock: bool, from: Registers) -> *mut Row {
    let Some(_guard) = state.busy.set() else {
        recorder::count(offset_of!(Header, interrupted_operations));
        return null_mut();
    };
    // SAFETY: this thread's own state, marked busy.
    let row = unsafe { add_here(state, &call, of_lock) }.or_else(|| {
        // SAFETY: as above; the thread is in the call.
        preserving_errno(|| unsafe {
            if let Some(stack) = stacks::known(call.caller, call.ret) {
                return with_signals_blocked(|| add(state, call, of_lock, || stack));
            }
            tools::with(|cache: Option<&mut Cache>| {
                let stack = || stacks::capture(from, call.caller, call.ret, cache);
                add(state, call, of_lock, stack)
            })
        })
    });
    if row.is_none() {
        recorder::count(offset_of!(Header, dropped_operations));
    }
    row.unwrap_or(null_mut())
}

/// The number of a call's stack, which is captured if no earlier call had the same one. `None` in a
/// signal handler that interrupted the recorder.
pub unsafe fn captured(state: &ThreadState, caller: Caller, from: Registers) -> Option<u32> {
    let _guard = state.busy.set()?;
    // SAFETY: the thread is in the call, and `caller` points to its return address.
    let (known, ret) = unsafe { (stacks::known(caller, *caller), *caller) };
    let capture = |cache: Option<&mut Cache>| stacks::capture(from, caller, ret, cache);
    Some(known.unwrap_or_else(|| preserving_errno(|| tools::with(capture))))
}

/// Adds the row in the most frequent case, without capturing a stack or blocking signals: the place
/// is known, its stack is that of the call, and the table of locks has room.
unsafe fn add_here(state: &ThreadState, call: &Call, of_lock: bool) -> Option<*mut Row> {
    // SAFETY: the caller's own state, marked busy.
    unsafe {
        let place = place(state, call).filter(|_| of_lock || !is_full(state, call))?;
        let stack = (*place).stack;
        let is_quick = state.locks.has_room(&LOCKS) && stacks::is_here(stack, call.caller);
        if is_quick { add_own(state, call, place, stack) } else { None }
    }
}

unsafe fn add(
    state: &ThreadState,
    call: Call,
    of_lock: bool,
    stack: impl FnOnce() -> u32,
) -> Option<*mut Row> {
    // SAFETY: the caller's own state, marked busy.
    unsafe {
        match place(state, &call) {
            None => add_place(state, call, stack, of_lock),
            Some(place) if !of_lock && is_full(state, &call) => count_the_rest(state, place),
            Some(place) => add_own(state, &call, place, stack()),
        }
    }
}

/// Whether a call already has as many rows of single locks as it may have.
unsafe fn is_full(state: &ThreadState, call: &Call) -> bool {
    // SAFETY: the caller's own state.
    unsafe { site(state, call).is_none_or(|site| (*site).locks >= call.most()) }
}

/// Adds the row of a lock at a place that already has a row, of another lock or of all the rest.
unsafe fn add_own(
    state: &ThreadState,
    call: &Call,
    place: *mut Row,
    stack: u32,
) -> Option<*mut Row> {
    // SAFETY: the caller's own state, marked busy.
    unsafe {
        if let Some(site) = site(state, call) {
            (*site).locks += 1;
        }
        let row = Row { lock: call.lock as u64, key: (*place).key, stack, ..row(call) };
        put_lock(state, row)
    }
}

/// Adds the row of a place: for the first lock that is used there or, if the site has too many, for
/// all locks.
unsafe fn add_place(
    state: &ThreadState,
    call: Call,
    stack: impl FnOnce() -> u32,
    of_lock: bool,
) -> Option<*mut Row> {
    // SAFETY: the caller's own state, marked busy.
    unsafe {
        let noted = match site(state, &call) {
            Some(noted) => noted,
            None => {
                let note = Row { key: call.key_of_note(), ..row(&call) };
                put_place(state, note)?.cast::<Site>()
            }
        };
        let call = if (*noted).depths < DEPTHS { call } else { call.at_any_depth() };
        (*noted).depths += 1;
        let is_single = of_lock || (*noted).locks < call.most();
        (*noted).locks += u32::from(is_single);
        let lock = if is_single { call.lock as u64 } else { REST };
        put_place(state, Row { lock, stack: stack(), ..row(&call) })
    }
}

/// Makes a place's row count for all locks without a row of their own, because its call has too
/// many locks. What the row has counted for its own lock so far moves to a row of that lock.
unsafe fn count_the_rest(state: &ThreadState, place: *mut Row) -> Option<*mut Row> {
    // SAFETY: the caller's own state, marked busy. Signals are blocked, so that nothing is counted
    // in a row that is already copied.
    with_signals_blocked(|| unsafe {
        let moved = put_lock(state, *place)?;
        state.rows_moved(|row| if row == place { moved } else { row });
        let Row { ret, key, stack, .. } = *place;
        place.write(Row { lock: REST, ret, key, stack, ..Row::zeroed() });
        // A reader that has read both rows reads again.
        let record = state.record.get();
        (*record).exchanges = (*record).exchanges.wrapping_add(1);
        Some(place)
    })
}

/// Adds a row to those of places; `None` if there is no room for it.
pub unsafe fn put_place(state: &ThreadState, row: Row) -> Option<*mut Row> {
    // SAFETY: the caller's own state, marked busy.
    unsafe { put(state, &state.places, &PLACES, row) }
}

/// Adds a row to those of single locks; `None` if there is no room for it.
unsafe fn put_lock(state: &ThreadState, row: Row) -> Option<*mut Row> {
    // SAFETY: the caller's own state, marked busy.
    unsafe { put(state, &state.locks, &LOCKS, row) }
}

unsafe fn put(state: &ThreadState, table: &Table, kind: &Kind, row: Row) -> Option<*mut Row> {
    let room = recorder::existing()?.room();
    // SAFETY: the caller's own state, marked busy.
    unsafe { table.put(kind, room, state.record.get(), row, |to| state.rows_moved(to)) }
}

/// A row for this call that has counted nothing.
pub fn row(call: &Call) -> Row {
    Row { ret: call.ret as u64, key: call.key, ..Row::zeroed() }
}
