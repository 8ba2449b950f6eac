//! The counting itself: what every interposed function does besides its call.
//!
//! An acquisition first finds where it is counted ([`spot`]), so that this is done before the
//! thread has the lock; then it tries. If the try succeeds, it was uncontended, and all that
//! follows is [`acquired`]: add one, note the lock as held. Only if it fails does time get measured
//! ([`wait_for_lock`]), and the holder looked for.

mod hold;
mod holder;
mod interrupted;
mod nest;
mod notice;
mod outcome;
mod wait;

use core::mem::offset_of;

use syncline_recording::Op;
use syncline_recording::layout::Header;
use syncline_recording::writer::add_one;

pub use crate::count::interrupted::wait_letting_go;
pub use crate::count::notice::{waking, waking_nobody};
pub use crate::count::outcome::Outcome;
pub use crate::count::wait::{lock_untried, polling, wait_for_event, wait_for_lock};
use crate::thread::held::Hold;
pub use crate::thread::rows::{Spot, spot};
use crate::thread::{ThreadState, records, rows};
use crate::{clock, recorder, thread};

/// Where the program called from: the stack pointer at the entry of the interposed
/// function, which points to the return address.
pub type Caller = *const usize;

/// Counts an acquisition that did not wait, and notes the lock as held.
///
/// Returns 0, as the caller mostly has to: so the slow path ends in a jump.
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

/// The slow path: an acquisition that is to be timed, or is held with many others, or can't be
/// counted.
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

/// Notes that the calling thread releases a lock; called just before it does. Returns the lock, so
/// that the caller need not keep it meanwhile.
#[inline(always)]
pub fn releasing(lock: usize) -> usize {
    match thread::state() {
        Some(state) if state.held.pop_untimed(lock) => lock,
        state => released_rarely(state, lock),
    }
}

/// The slow path: a release of a lock that is not the newest, or was timed, or whose acquisition
/// was not seen.
#[cold]
#[inline(never)]
fn released_rarely(state: Option<&ThreadState>, lock: usize) -> usize {
    match state.and_then(|state| Some((state, state.held.pop(lock)?))) {
        Some((state, hold)) => hold::end(state, &hold),
        None => recorder::count_acquired_before(),
    }
    lock
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

/// Counts an operation that neither waits nor holds, such as getting a positive semaphore, in the
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

/// Notes the first value of an object, at the call site of its creation: of several, the largest.
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

/// Counts an operation that neither waits nor holds, if it returned 0. Returns what it did.
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

/// A thread that tries or looks again within this many microseconds does it to get what it waits for:
/// it may let others run in between, but it does not sleep.
const SOON: u64 = 5;

/// Counts a try that was refused, and the time since the try before it, if the thread did little
/// else.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(never)]
pub unsafe fn refused(op: Op, lock: usize, caller: Caller) {
    // SAFETY: by this function's own condition.
    unsafe {
        let row = rows::of(op, lock, caller);
        if row.is_null() {
            return;
        }
        let Some(state) = thread::state() else { return };
        match records::waits_of(state, row) {
            Some(waits) => {
                add_one(&raw mut (*waits).refused);
                let now = clock::now();
                let polled_at = state.polled_at.replace(now);
                if now.saturating_sub((*waits).refused_at) < clock::microseconds(SOON) {
                    // What was polled in between has its time already.
                    let since = now.saturating_sub((*waits).refused_at.max(polled_at));
                    // What a signal handler adds by a try at this moment is lost.
                    (*waits).spun_ticks = (*waits).spun_ticks.wrapping_add(since);
                }
                (*waits).refused_at = now;
            }
            None if state.busy.is_set() => {
                recorder::count(offset_of!(Header, interrupted_operations));
            }
            None => recorder::count(offset_of!(Header, dropped_operations)),
        }
    }
}
