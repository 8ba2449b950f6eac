//! Threads that poll: tries that are refused, and calls that let other threads run in between.

use core::mem::offset_of;

use syncline_recording::Op;
use syncline_recording::layout::{Header, REST, WaitRecord};
use syncline_recording::writer::sampling::weight;
use syncline_recording::writer::{add, add_one};

use crate::count::outcome::Outcome;
use crate::count::wait::add_call;
use crate::thread::attach::before_trying;
use crate::thread::call::Caller;
use crate::thread::rows::{self, Spot};
use crate::thread::{ThreadState, records};
use crate::{clock, recorder, thread};

/// A thread that tries or looks again within this many microseconds polls for what it needs: it may
/// let others run in between, but it does not sleep.
const SOON: u64 = 5;

/// Counts a try that was refused. If it came soon after the thread's last poll, and the thread has
/// released no lock since, the time in between was spent on polling.
///
/// The thread may hold other locks, for which others wait. So at a place with many locks, the try is
/// counted for all of them ([`rows`]), which needs no further row in the cache.
///
/// # Safety
/// `caller` is a [`Caller`], and the spot was found for this operation on this lock.
#[inline(never)]
pub unsafe fn refused(spot: Spot, op: Op, lock: usize, caller: Caller) {
    // SAFETY: by this function's own condition, a row and a record of this thread's own.
    unsafe {
        let Some(state) = thread::state() else { return };
        let Some((is_of_many, waits)) = record(state, spot, op, lock, caller) else { return };
        let before = (*waits).refused;
        add_one(&raw mut (*waits).refused);
        let now = clock::now();
        let since = now.saturating_sub(state.polled_at.replace(now));
        let did_nothing_else = !state.held.has_released_since();
        if did_nothing_else && since < clock::microseconds(SOON) {
            add(&raw mut (*waits).spun_ticks, since);
        }
        if is_of_many && weight(REST, before).is_some() {
            move_to_lock(state, waits, op, lock, caller);
        }
    }
}

/// The record that counts a refused try, and whether it does so for many locks. `None` if the try
/// can't be counted, which has been noted then.
///
/// # Safety
/// Same requirements as [`refused`]; the state is this thread's own.
unsafe fn record(
    state: &ThreadState,
    mut spot: Spot,
    op: Op,
    lock: usize,
    caller: Caller,
) -> Option<(bool, *mut WaitRecord)> {
    // SAFETY: by this function's own condition.
    unsafe {
        if (*spot.row()?).wait == 0 {
            // A signal handler may have moved the row since, and a new record must not be the old
            // row's.
            spot = rows::spot(op, lock, caller);
        }
        let row = spot.row()?;
        let waits = records::waits_of(state, row);
        if waits.is_none() {
            recorder::count(match state.busy.is_set() {
                true => offset_of!(Header, interrupted_operations),
                false => offset_of!(Header, dropped_operations),
            });
        }
        Some(((*row).lock == REST, waits?))
    }
}

/// Moves what the record of a place with many locks has counted of refused tries since the last such
/// move to the record of this lock.
///
/// # Safety
/// The state and the record are this thread's own, and `caller` is a [`Caller`].
#[cold]
#[inline(never)]
unsafe fn move_to_lock(
    state: &ThreadState,
    from: *mut WaitRecord,
    op: Op,
    lock: usize,
    caller: Caller,
) {
    // A signal handler that has interrupted the recorder leaves it to a later try.
    if state.busy.is_set() {
        return;
    }
    // SAFETY: by this function's own condition. Records stay where they are.
    unsafe {
        let row = rows::of(op, lock, caller);
        if row.is_null() {
            return;
        }
        let Some(to) = records::waits_of(state, row) else { return };
        let Some(_guard) = state.busy.set() else { return };
        let refused = (*from).refused - (*from).refused_moved;
        add(&raw mut (*to).refused, refused);
        (*from).refused_moved += refused;
        let spun = (*from).spun_ticks;
        add(&raw mut (*to).spun_ticks, spun);
        add(&raw mut (*from).spun_ticks, spun.wrapping_neg());
    }
}

/// Makes a call that lets other threads run before the caller polls again, and counts the call. A
/// call that took long was a wait. Otherwise, if the call came soon after the thread's last poll,
/// the time since that poll was spent on polling.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(never)]
pub unsafe fn polling(op: Op, object: usize, caller: Caller, leave: impl FnOnce() -> i32) -> i32 {
    before_trying();
    let began = clock::now();
    let result = leave();
    let ended = clock::now();
    // SAFETY: by this function's own condition; the row is this thread's own.
    unsafe {
        let row = rows::of(op, object, caller);
        let Some(state) = thread::state().filter(|_| !row.is_null()) else { return result };
        let soon = clock::microseconds(SOON);
        let polled_at = state.polled_at.replace(ended);
        if ended - began > soon {
            add_call(op, row, began, ended, || None, Outcome::Got);
            return result;
        }
        add_one(&raw mut (*row).calls);
        if began.saturating_sub(polled_at) < soon
            && let Some(waits) = records::waits_of(state, row)
        {
            add(&raw mut (*waits).spun_ticks, ended - polled_at);
        }
    }
    result
}
