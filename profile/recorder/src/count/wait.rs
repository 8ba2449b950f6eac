//! Measures waits: how long they take, and which thread they wait for.
//!
//! Three kinds of calls come here: those that have to wait for a lock, those whose lock can't be
//! tried, and waits for events. They can afford to read the clock a few times, and to search the
//! other threads.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicU32, fence};

use syncline_recording::layout::{Row, ThreadRecord};
use syncline_recording::writer::add_one;
use syncline_recording::{Class, Op, Primitive};

use crate::count::hold;
use crate::count::holder::{holder_of, last_holder_of, myself};
use crate::count::nest;
use crate::count::notice::{is_noticed, joined, waker_of};
use crate::count::outcome::Outcome;
use crate::count::pending;
use crate::count::uncontended::acquired;
use crate::count::waited;
use crate::thread::attach::before_trying;
use crate::thread::call::Caller;
use crate::thread::held::Holder;
use crate::thread::pending::EndedWait;
use crate::thread::rows::{self, spot};
use crate::{clock, recorder, thread};

/// Waits for a lock that another thread holds. Measures the wait, and notes the holder.
///
/// # Safety
/// `caller` is a [`Caller`].
#[cold]
#[inline(never)]
pub unsafe fn wait_for_lock(
    op: Op,
    lock: usize,
    caller: Caller,
    block: impl FnOnce() -> i32,
    outcome: fn(i32) -> Outcome,
) -> i32 {
    let now = holder_of(lock);
    let holder = now.or_else(|| last_holder_of(lock));
    // A holder that was not found before the wait has released the lock by now.
    let then = |lock| holder.or_else(|| last_holder_of(lock));
    let now = now.or_else(|| myself(lock));
    // SAFETY: by this function's own condition.
    unsafe { measured(op, lock, caller, block, outcome, now, then) }
}

/// Waits for an event.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(never)]
pub unsafe fn wait_for_event(
    op: Op,
    object: usize,
    caller: Caller,
    block: impl FnOnce() -> i32,
    outcome: fn(i32) -> Outcome,
) -> i32 {
    if let Some(state) = thread::state() {
        // The wait may be long, so this thread must not be found as one that has just released a
        // lock.
        state.held.forget_released();
    }
    // SAFETY: by this function's own condition.
    unsafe { measured(op, object, caller, block, outcome, None, |_| None) }
}

/// Acquires a lock that can't be tried. The lock counts as contended if that takes longer than an
/// uncontended acquisition can take.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(never)]
pub unsafe fn lock_untried(
    op: Op,
    lock: usize,
    caller: Caller,
    block: impl FnOnce() -> i32,
    outcome: fn(i32) -> Outcome,
) -> i32 {
    /// Nanoseconds: far above an uncontended acquisition, and far below a wake-up.
    const UNCONTENDED_AT_MOST: u64 = 1_000;
    before_trying();
    let began = clock::now();
    let result = block();
    let ended = clock::now();
    let outcome = outcome(result);
    // SAFETY: by this function's own condition; the row is this thread's own.
    unsafe {
        if clock::to_nanoseconds(ended - began) > UNCONTENDED_AT_MOST {
            // Waits are logged in their order, so the noted wait comes first.
            if let Some(state) = thread::state() {
                pending::count(state);
            }
            let row = rows::of(op, lock, caller);
            let got = matches!(outcome, Outcome::Got);
            add_call(op, row, began, ended, || last_holder_of(lock), outcome);
            if got {
                hold::counted(row, ended);
            }
        } else if matches!(outcome, Outcome::Got) {
            acquired(spot(op, lock, caller), op, lock, caller);
        }
    }
    result
}

/// # Safety
/// `caller` is a [`Caller`].
#[inline(always)]
unsafe fn measured(
    op: Op,
    lock: usize,
    caller: Caller,
    block: impl FnOnce() -> i32,
    outcome: fn(i32) -> Outcome,
    now: Option<Holder>,
    holder: impl FnOnce(usize) -> Option<Holder>,
) -> i32 {
    // SAFETY: by this function's own condition. Rows are looked up again after the wait: a
    // signal handler may have made the table grow meanwhile.
    unsafe {
        if let Some(state) = thread::state() {
            pending::count(state);
        }
        let row = rows::of(op, lock, caller);
        let stack = if row.is_null() { 0 } else { (*row).stack };
        let brief = thread::state()
            .filter(|&state| has_holder(op) && !row.is_null() && hold::is_brief(state, row));
        let began = clock::now();
        waiting(op, lock, began, stack, now);
        if op == Op::ThreadJoin {
            name_joined(lock);
        }
        let waiters = recorder::existing().map(|r| &r.waiters).filter(|_| is_noticed(op));
        if let Some(waiters) = waiters {
            waiters.add(lock);
        }
        // A thread that is cancelled here does not return, and stays counted as a waiter.
        let result = block();
        let ended = clock::now();
        if let Some(waiters) = waiters {
            waiters.take(lock);
        }
        let outcome = outcome(result);
        if let (Some(state), Outcome::Got) = (brief, &outcome)
            && ((*row).lock, (*row).ret) == (lock as u64, *caller as u64)
        {
            let (holder, outer) = (holder(lock), nest::outer(state, lock));
            waiting_no_more(ended);
            pending::put(state, lock, EndedWait { row, began, ended, holder, outer });
            return result;
        }
        let row = if row.is_null() { row } else { rows::of(op, lock, caller) };
        let got = matches!(outcome, Outcome::Got) && has_holder(op);
        add_call(op, row, began, ended, || holder(lock), outcome);
        waiting_no_more(ended);
        if got {
            hold::counted(row, ended);
        }
        result
    }
}

/// Counts a call that waited.
///
/// # Safety
/// The row is this thread's own, or null.
pub unsafe fn add_call(
    op: Op,
    row: *mut Row,
    began: u64,
    ended: u64,
    holder: impl FnOnce() -> Option<Holder>,
    outcome: Outcome,
) {
    if row.is_null() || matches!(outcome, Outcome::Failed) {
        return;
    }
    let got = matches!(outcome, Outcome::Got);
    // SAFETY: by this function's own condition; a row comes with its thread's state.
    unsafe {
        let Some(state) = thread::state() else { return };
        if got && has_holder(op) {
            hold::begin_after_wait(state, row, began, ended);
        }
        let holder = holder();
        waited::add(row, ended - began, holder, &outcome);
        if got || op.class() == Class::Wait {
            add_one(&raw mut (*row).calls);
        }
        let waker = || waker_of(op, (*row).lock as usize, began, ended).filter(|_| got);
        let who = holder.map(|holder| holder.thread).or_else(waker);
        waited::log(state, row, (began, ended), &outcome, who);
    }
}

/// Whether the operation acquires a lock that the same thread has to release.
fn has_holder(op: Op) -> bool {
    op.class() == Class::Acquire && op.primitive() != Primitive::Semaphore
}

/// Notes in the thread's record what it waits for, for readers of the file of a running or killed
/// program.
fn waiting(op: Op, lock: usize, since: u64, stack: u32, holder: Option<Holder>) {
    let Some(record) = own_record() else { return };
    // SAFETY: the record is this thread's own. A reader may find some of the words old and some
    // new; `waiting_op` is stored last.
    unsafe {
        (*record).waiting_lock = lock as u64;
        (*record).waiting_since = since;
        (*record).waiting_stack = stack;
        (*record).waiting_holder = holder.map_or(0, |holder| holder.thread + 1);
        (*record).waiting_holder_stack = holder.map_or(0, |holder| holder.stack);
        AtomicU32::from_ptr(&raw mut (*record).waiting_op).store(op as u32, Relaxed);
    }
}

/// Notes in the thread's record for which thread's end it waits. A thread that has not begun yet
/// stores its index there itself when it does (`tell` in [`crate::thread::attach`]).
fn name_joined(handle: usize) {
    // Pairs with the fence in `tell`: this thread finds the other's handle, or the other one finds
    // that this thread waits. If both do, they store the same.
    fence(SeqCst);
    if let (Some(record), Some(thread)) = (own_record(), joined(handle)) {
        // SAFETY: the record is this thread's own, and the word is written whole.
        unsafe {
            AtomicU32::from_ptr(&raw mut (*record).waiting_holder).store(thread + 1, Relaxed);
        }
    }
}

fn waiting_no_more(now: u64) {
    let Some(record) = own_record() else { return };
    // SAFETY: the record is this thread's own.
    unsafe {
        AtomicU32::from_ptr(&raw mut (*record).waiting_op).store(0, Relaxed);
        (*record).last_seen = now;
    }
}

/// The calling thread's record, if it is attached.
fn own_record() -> Option<*mut ThreadRecord> {
    let state = thread::state().filter(|state| state.is_attached())?;
    Some(state.record.get())
}
