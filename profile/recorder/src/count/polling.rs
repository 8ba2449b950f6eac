//! Threads that poll: tries that are refused, and calls that let other threads run in between.

use core::mem::offset_of;

use syncline_recording::Op;
use syncline_recording::layout::Header;
use syncline_recording::writer::add_one;

use crate::count::outcome::Outcome;
use crate::count::wait::add_call;
use crate::thread::attach::before_trying;
use crate::thread::call::Caller;
use crate::thread::{records, rows};
use crate::{clock, recorder, thread};

/// A thread that tries or looks again within this many microseconds polls for what it needs: it may
/// let others run in between, but it does not sleep.
const SOON: u64 = 5;

/// Counts a try that was refused. If it came soon after the row's previous one, the time in between
/// was spent on polling.
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
                    // If the thread has polled since the last refusal, the time until that poll is
                    // counted already.
                    let since = now.saturating_sub((*waits).refused_at.max(polled_at));
                    // If a signal handler counts a try at this moment, what it adds is lost.
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
            // If a signal handler counts a poll at this moment, what it adds is lost.
            (*waits).spun_ticks = (*waits).spun_ticks.wrapping_add(ended - polled_at);
        }
    }
    result
}
