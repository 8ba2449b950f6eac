//! The counting itself: what every interposed function does besides its call.
//!
//! An acquisition tries first. If the try succeeds, it was uncontended, and all that follows
//! is [`acquired`]: find the row, add one, note the lock as held. Only if it fails does
//! time get measured ([`wait_for_lock`]), and the holder looked for.

mod hold;
mod holder;
mod interrupted;
mod nest;
mod notice;
mod outcome;
pub mod sampling;
mod wait;

use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;

use syncline_recording::Op;
use syncline_recording::layout::{Header, Row};

pub use crate::count::interrupted::wait_letting_go;
pub use crate::count::notice::{waking, waking_nobody};
pub use crate::count::outcome::Outcome;
use crate::count::sampling::is_timed;
pub use crate::count::wait::{lock_untried, wait_for_event, wait_for_lock};
pub use crate::thread::attach::before_trying;
use crate::thread::held::Hold;
use crate::thread::{ThreadState, rows};
use crate::{clock, recorder, tls};

/// Where the program called from: the stack pointer at the entry of the interposed
/// function, which points to the return address.
pub type Caller = *const usize;

/// Adds one in a single instruction, so that a signal handler that counts in the same row
/// loses nothing.
///
/// # Safety
/// The counter is this thread's own.
#[inline(always)]
unsafe fn add_one(counter: *mut u64) {
    // SAFETY: by this function's own condition.
    unsafe {
        core::arch::asm!("inc qword ptr [{0}]", in(reg) counter, options(nostack));
    }
}

/// Counts an acquisition that did not wait, and notes the lock as held.
///
/// Returns 0, as the caller mostly has to: so the rarer way ends in a jump.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(always)]
pub unsafe fn acquired(op: Op, lock: usize, caller: Caller) -> i32 {
    // SAFETY: by this function's own condition; the row is this thread's own.
    unsafe {
        if let Some((state, row)) = rows::known(op, lock, caller)
            && !is_timed((*row).calls)
            && state.held.push_untimed(row)
        {
            prefetch(row);
            add_one(&raw mut (*row).calls);
            return 0;
        }
        acquired_rarely(op, lock, caller)
    }
}

/// Asks for the row some ten rows on: where a walk over an array of locks comes next. The
/// processor's own guess ends at each page, and the store into a row that is not in the
/// cache holds up the next lock: without this, such a walk takes up to twice as long.
#[inline(always)]
fn prefetch(row: *mut Row) {
    const AHEAD: usize = 10 * size_of::<Row>();
    // SAFETY: a prefetch of any address is harmless.
    unsafe {
        core::arch::asm!(
            "prefetchw byte ptr [{row} + {ahead}]",
            row = in(reg) row,
            ahead = const AHEAD,
            options(nostack, preserves_flags),
        );
    }
}

/// An acquisition whose row has to be looked for, or that is to be timed.
#[cold]
#[inline(never)]
unsafe fn acquired_rarely(op: Op, lock: usize, caller: Caller) -> i32 {
    // SAFETY: the caller's condition; a row comes with its thread's state.
    unsafe {
        let row = rows::of(op, lock, caller);
        if !row.is_null() {
            let is_timed = is_timed((*row).calls);
            add_one(&raw mut (*row).calls);
            match tls::state() {
                Some(state) if is_timed => hold::begin(state, row),
                Some(state) => state.held.push(Hold::untimed(row)),
                None => {}
            }
        }
        0
    }
}

/// Notes that the calling thread lets go of a lock; called just before it does. Returns
/// the lock, so that the caller need not keep it meanwhile.
#[inline(always)]
pub fn releasing(lock: usize) -> usize {
    match tls::state() {
        Some(state) if !state.held.pop_untimed(lock) => released_rarely(state, lock),
        _ => lock,
    }
}

/// A release of a lock that is not the newest, or was timed.
#[cold]
#[inline(never)]
fn released_rarely(state: &ThreadState, lock: usize) -> usize {
    if let Some(hold) = state.held.pop(lock) {
        hold::end(state, &hold);
    }
    lock
}

/// Counts an operation that neither waits nor holds: a wake-up, a thread's creation, a
/// semaphore that was positive.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(always)]
pub unsafe fn happened(op: Op, object: usize, caller: Caller) {
    // SAFETY: by this function's own condition.
    unsafe {
        let row = rows::of(op, object, caller);
        if !row.is_null() {
            add_one(&raw mut (*row).calls);
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

/// Counts the creation of an object, if it returned 0: with a row of its own while its call
/// site has created few, else with one row for all, whose lock is 0. Returns what it did.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(never)]
pub unsafe fn created(op: Op, object: usize, caller: Caller, result: i32) -> i32 {
    /// Objects of one call site, in one thread, that get a row of their own.
    const SINGLE: u32 = 16_384;
    if result != 0 {
        return result;
    }
    // SAFETY: by this function's own condition; the row is this thread's own.
    unsafe {
        let row = rows::of(op, 0, caller);
        if row.is_null() {
            return result;
        }
        if (*row).held_samples < SINGLE {
            (*row).held_samples += 1;
            happened(op, object, caller);
        } else {
            add_one(&raw mut (*row).calls);
        }
    }
    result
}

/// Counts a try that was refused, and the time since the one before where the thread did little
/// else.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(never)]
pub unsafe fn refused(op: Op, lock: usize, caller: Caller) {
    /// A thread that tries again within so many microseconds does it to get the lock: it may let
    /// others run in between, but it does not sleep.
    const SOON: u64 = 5;
    // SAFETY: by this function's own condition.
    unsafe {
        let row = rows::of(op, lock, caller);
        if row.is_null() {
            return;
        }
        let Some(state) = tls::state() else { return };
        match rows::waits_of(state, row) {
            Some(waits) => {
                add_one(&raw mut (*waits).refused);
                let now = clock::now();
                let since = now.saturating_sub((*waits).refused_at);
                if since < clock::microseconds(SOON) {
                    // A handler of a signal that tries just now loses what it adds.
                    (*waits).spun_ticks = (*waits).spun_ticks.wrapping_add(since);
                }
                (*waits).refused_at = now;
            }
            None if state.busy.load(Relaxed) != 0 => {
                recorder::count(offset_of!(Header, interrupted_operations));
            }
            None => recorder::count(offset_of!(Header, dropped_operations)),
        }
    }
}
