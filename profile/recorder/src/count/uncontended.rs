//! The operations that do not wait, which nearly all are: the acquisition of a free lock, a
//! release, a wake-up without a waiter.

use syncline_recording::Op;
use syncline_recording::writer::add_one;

use crate::count::hold;
use crate::count::pending;
use crate::thread::call::Caller;
use crate::thread::held::Hold;
use crate::thread::rows::{Spot, spot};
use crate::thread::{ThreadState, call, rows};
use crate::{recorder, thread};

/// Counts an acquisition that did not wait, and notes the lock as held.
///
/// Returns 0, which is usually the caller's result too. So the call of the slow path is a jump.
///
/// # Safety
/// `caller` is a [`Caller`], and the spot was found for this operation on this lock.
#[inline(always)]
pub unsafe fn acquired(spot: Spot, op: Op, lock: usize, caller: Caller) -> i32 {
    // SAFETY: by this function's own condition; the row is this thread's own.
    unsafe {
        if let Some(row) = spot.plain()
            && let Some(state) = thread::state()
            && state.held.push_untimed(lock, row)
        {
            add_one(&raw mut (*row).calls);
            return 0;
        }
        acquired_rarely(spot, op, lock, caller)
    }
}

/// The slow path of [`acquired`]: the acquisition is sampled, or can't be counted, or the thread
/// already holds as many locks as it can note.
#[cold]
#[inline(never)]
unsafe fn acquired_rarely(spot: Spot, op: Op, lock: usize, caller: Caller) -> i32 {
    // SAFETY: the caller's condition.
    unsafe {
        if let (Some(row), Some(state)) = (spot.row(), thread::state()) {
            if spot.is_sampled() {
                let weight = rows::count_sampled(state, row, op, caller);
                hold::begin(state, lock, row, weight);
            } else {
                add_one(&raw mut (*row).calls);
                state.held.push(Hold::untimed(lock, row));
            }
        }
        0
    }
}

/// Notes that the calling thread releases a lock, and releases it. A hold that was timed is counted
/// when the lock is free.
#[inline(always)]
pub fn release<R>(lock: usize, unlock: impl FnOnce(usize) -> R) -> R {
    match thread::state() {
        Some(state) if state.held.pop_untimed(lock) => unlock(lock),
        state => release_rarely(state, lock, unlock),
    }
}

/// The slow path of [`release`]: the lock is not the newest one held, or its acquisition was timed,
/// interrupted by a wait, or not seen.
#[cold]
#[inline(never)]
fn release_rarely<R>(
    state: Option<&ThreadState>,
    lock: usize,
    unlock: impl FnOnce(usize) -> R,
) -> R {
    let hold = state.and_then(|state| Some((state, state.held.pop(lock)?)));
    let Some((state, hold)) = hold else {
        recorder::count_acquired_before();
        return unlock(lock);
    };
    let Some(ended) = hold::ending(state, &hold) else { return unlock(lock) };
    // SAFETY: the row is this thread's own.
    let (ret, key) = unsafe { ((*hold.row).ret as usize, (*hold.row).key) };
    let result = unlock(lock);
    // The state and the row are looked up again: rows move, and recording may have ended meanwhile.
    if let Some(state) = thread::state().filter(|state| state.is_attached())
        // SAFETY: the state is this thread's own.
        && let Some(row) = unsafe { call::find(state, lock, ret, key) }
    {
        pending::count(state);
        hold::end(state, &Hold { row, ..hold }, ended);
    }
    result
}

/// Counts an operation that neither waits nor holds: a wake-up, a thread's creation.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(always)]
pub unsafe fn happened(op: Op, object: usize, caller: Caller) {
    // SAFETY: by this function's own condition.
    unsafe { passed(spot(op, object, caller), op, caller) }
}

/// Counts an operation that neither waits nor holds, such as taking a positive semaphore, in the
/// spot that was found for it.
///
/// # Safety
/// `caller` is a [`Caller`], and the spot was found for this operation.
#[inline(always)]
pub unsafe fn passed(spot: Spot, op: Op, caller: Caller) {
    // SAFETY: by this function's own condition; rows come with their thread's state.
    unsafe {
        match (spot.row(), thread::state()) {
            (Some(row), Some(state)) if spot.is_sampled() => {
                _ = rows::count_sampled(state, row, op, caller);
            }
            (Some(row), _) => add_one(&raw mut (*row).calls),
            (None, _) => {}
        }
    }
}

/// Notes the initial value of an object at the call site that created it. The largest value stays.
///
/// # Safety
/// `caller` is a [`Caller`].
pub unsafe fn begins_with(value: u32, op: Op, object: usize, caller: Caller) {
    // SAFETY: by this function's own condition; the row is this thread's own.
    unsafe {
        let row = rows::of(op, object, caller);
        if !row.is_null() {
            (*row).held_max = (*row).held_max.max(u64::from(value));
        }
    }
}

/// Counts an operation that neither waits nor holds, if its result is 0. Returns that result.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(always)]
pub unsafe fn counted(op: Op, object: usize, caller: Caller, result: i32) -> i32 {
    if result == 0 {
        // SAFETY: by this function's own condition.
        unsafe { happened(op, object, caller) };
    }
    result
}
