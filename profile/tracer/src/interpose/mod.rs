//! The interposed functions. Those for locks are made from the functions in this file: [`acquire`],
//! [`release`] and [`wait`].

mod c11;
mod cond;
mod heap;
mod jump;
mod mutex;
mod passing;
mod prctl;
mod rwlock;
mod spin;

use core::ffi::c_int;

use syncline_recording::Op;

use crate::call::choose::prepare;
use crate::section::{Acquired, Call, Caller, enter, finish};
use crate::{clock, thread};

/// The outcome of a call that may acquire a lock.
enum Got {
    /// The lock is held now.
    Yes,
    /// The lock was not acquired.
    No,
}

impl Got {
    /// The outcome of a function that returns 0 if it has acquired the lock, otherwise an error.
    fn if_zero(result: c_int) -> Got {
        if result == 0 { Got::Yes } else { Got::No }
    }
}

/// The argument `has_waiters` of [`release`] for locks whose memory does not show whether threads
/// wait.
fn unknown() -> bool {
    false
}

/// The argument `attempt` of [`acquire`] for calls that are not preceded by a try.
const UNTRIED: Option<fn() -> Option<c_int>> = None;

/// Acquires a lock by `block`, the program's call. If there is an `attempt`, that is tried first,
/// to find out whether the call has to wait. `holder` returns the thread that holds the lock (0 if
/// unknown), and `got` says whether a result of the call means that the lock is now held.
///
/// # Safety
/// The closures make the program's own calls. `caller` is the stack pointer that the entry passes.
#[inline(always)]
unsafe fn acquire<R: Copy>(
    (op, lock, shared): (Op, usize, bool),
    caller: Caller,
    attempt: Option<impl FnOnce() -> Option<R>>,
    holder: impl FnOnce() -> u32,
    block: impl FnOnce() -> R,
    got: impl FnOnce(R) -> Got,
) -> R {
    // SAFETY: by this function's own condition.
    unsafe {
        let mut call = enter(caller);
        if let Call::Foreign = call {
            return block();
        }
        let mut stands_for = 1;
        if let Call::Plain = call
            && let Some(thread) = thread::current()
        {
            stands_for = thread.stands_for(*caller);
            if stands_for > 0 {
                prepare(thread, (lock as u64, *caller), stands_for);
                thread.prefetch(lock as u64, *caller);
            }
        }
        let tries = attempt.is_some();
        let at_once = attempt.and_then(|attempt| attempt());
        let (result, waited, holder) = match at_once {
            Some(result) => (result, 0, 0),
            None => {
                let (holder, before) = (holder(), clock::now());
                let result = block();
                (result, clock::now().saturating_sub(before).max(1), holder)
            }
        };
        // If the call was not preceded by a try, it is unknown whether it waited. It counts as one
        // that did not.
        let waited = if tries { waited } else { 0 };
        if let Got::Yes = got(result) {
            // An acquisition that waited is always counted, as a single one: it stands for no
            // others.
            let stands_for = if waited > 0 { 1 } else { stands_for };
            if stands_for > 0 {
                call.acquired(Acquired { lock, op, shared, waited, holder, stands_for }, caller);
            }
        }
        call.leave(caller);
        result
    }
}

/// Releases a lock by `really`, the program's call. `has_waiters` says whether threads are known to
/// wait for the lock.
///
/// # Safety
/// Same requirements as [`acquire`].
#[inline(always)]
unsafe fn release<R>(
    lock: usize,
    caller: Caller,
    has_waiters: impl FnOnce() -> bool,
    really: impl FnOnce() -> R,
) -> R {
    // SAFETY: by this function's own condition.
    unsafe {
        let mut call = enter(caller);
        if let Call::Traced(context) = &mut call {
            context.engine().others_waited |= has_waiters();
        }
        let finished = call.releasing(lock);
        let result = really();
        if let Some(context) = finished {
            finish(context);
        }
        call.leave(caller);
        result
    }
}

/// Waits for a condition by `block`, the program's call. The section of the mutex `lock` ends
/// before the wait, and another one begins after it.
///
/// # Safety
/// Same requirements as [`acquire`].
unsafe fn wait<R>(lock: usize, caller: Caller, block: impl FnOnce() -> R) -> R {
    // SAFETY: by this function's own condition.
    unsafe {
        let mut call = enter(caller);
        let before = call.waiting(lock);
        let result = block();
        let (op, shared) = (Op::MutexLock, false);
        let by = Acquired { lock, op, shared, waited: 0, holder: 0, stands_for: 1 };
        call.acquired_after(by, caller, true, before);
        call.leave(caller);
        result
    }
}
