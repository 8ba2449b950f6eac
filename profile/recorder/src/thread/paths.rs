//! Tells apart the paths to one call that have the same depth.
//!
//! A function that wraps a lock function may be called at several lines of one function. All these
//! calls have one return address, which is in the wrapper, and one depth. Their stacks differ only
//! in the return address to the line, which lies at a fixed distance from that of the call.
//!
//! When a call is sampled or has to wait, and its stack is not that of its row, the distance of the
//! first return address that differs is noted ([`Fork`]). From then on, the return address there is
//! a part of the place's key, so each path has rows of its own: a word of the stack is read, and
//! nothing is unwound. The rows from before stay as they are, with the stack that came first.

use core::sync::atomic::{AtomicU64, Ordering};

use syncline_interpose::with_signals_blocked;
use syncline_recording::layout::{ANY_DEPTH, APART, NOTE, PATH_SHIFT, Row};
use syncline_recording::writer::hash_of_place;

use crate::recorder::stacks;
use crate::thread::ThreadState;
use crate::thread::adding::{put_place, row};
use crate::thread::call::{Call, place, site};

/// The note about the paths of a call at one depth. It lies among the rows of places, and begins
/// like a row.
#[repr(C)]
struct Fork {
    unused: u64,
    ret: u64,
    key: u64,
    /// The distance in words from the call's return address to the one that tells paths apart.
    slot: u64,
}

/// The key of the note for a call's place.
fn key_of_fork(call: &Call) -> u64 {
    call.key << 8 | NOTE
}

/// A call at a place whose paths are distinguished as a call on its own path; any other call as it is.
///
/// # Safety
/// The state is this thread's own, and the thread is in the call.
pub unsafe fn told_apart(state: &ThreadState, call: Call) -> Call {
    // SAFETY: by this function's own condition; such a row is a note.
    unsafe {
        let forks = site(state, &call).is_some_and(|site| (*site).forks > 0);
        let is = |row: &Row| (row.ret, row.key) == (call.ret as u64, key_of_fork(&call));
        let fork = || state.places.find(hash_of_place(call.ret, key_of_fork(&call)), is);
        match forks.then(fork).flatten() {
            Some(fork) => on_path(call, &*fork.cast::<Fork>()),
            None => call,
        }
    }
}

/// # Safety
/// The thread is in the call, which is at the depth of the note.
unsafe fn on_path(call: Call, fork: &Fork) -> Call {
    // SAFETY: at this depth, the word lies between the call's frame and the end of the stack.
    let value = unsafe { *call.caller.wrapping_add(fork.slot as usize) };
    let key = call.key | number(value);
    Call { key, path: fork.slot as u32, value, ..call }
}

/// The part of a key for the path on which this return address is found. It is not only [`APART`],
/// which marks the place from before.
fn number(found: usize) -> u64 {
    const SCATTER: u64 = 0x9e37_79b9_7f4a_7c15;
    /// The number has the bits between [`PATH_SHIFT`] and [`APART`].
    const BITS: u32 = 63 - PATH_SHIFT;
    let number = (found as u64).wrapping_mul(SCATTER) >> (64 - BITS);
    APART | number.max(1) << PATH_SHIFT
}

/// If a call does not have the stack of its row, tells the paths of its place apart from now on.
/// Returns the call on its own path then, whose row is another one.
///
/// # Safety
/// The state is this thread's own, and the thread is in the call. The row is that of the call, or
/// null.
pub unsafe fn fork(state: &ThreadState, call: Call, row: *mut Row) -> Option<Call> {
    // SAFETY: by this function's own condition.
    unsafe {
        if row.is_null() || call.key & APART != 0 || (*row).depth() == ANY_DEPTH {
            return None;
        }
        let slot = stacks::differs_at((*row).stack, call.caller)?;
        let _guard = state.busy.set()?;
        with_signals_blocked(|| note(state, &call, slot))?;
        Some(told_apart(state, call))
    }
}

/// Notes that paths differ at this distance, and marks the row of the place, so that no call finds
/// it any more. `None` if there is no room for the note.
///
/// # Safety
/// Same requirements as [`fork`]. The thread is marked busy, and signals are blocked.
unsafe fn note(state: &ThreadState, call: &Call, slot: u32) -> Option<()> {
    // SAFETY: by this function's own condition. Such a row is a note.
    unsafe {
        let fork = put_place(state, Row { key: key_of_fork(call), ..row(call) })?;
        (*fork.cast::<Fork>()).slot = u64::from(slot);
        (*site(state, call)?).forks += 1;
        let before = place(state, call)?;
        // A reader of the file finds the old key or the new one.
        AtomicU64::from_ptr(&raw mut (*before).key).store(call.key | APART, Ordering::Relaxed);
        state.recent.clear();
        Some(())
    }
}
