//! The code that runs while a lock waits. In a rank's own threads, MPI makes progress and other
//! threads run. The server's thread calls no function of MPI, and handles something else meanwhile
//! if it can. Some waits can be abandoned ([`unless`]).

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null;
use std::thread;

use corosensei::Yielder;

thread_local! {
    /// Whether this thread runs a function of [`as_server`].
    static SERVER: Cell<bool> = const { Cell::new(false) };
    /// The coroutine that this thread runs now, if any.
    static CURRENT: Cell<*const Yielder<(), ()>> = const { Cell::new(null()) };
    /// The function that decides whether the present wait is abandoned, if it can be.
    static LEAVE: Cell<*const Leave<'static>> = const { Cell::new(null()) };
}

type Leave<'a> = &'a dyn Fn() -> bool;

/// The payload of the panic that unwinds an abandoned wait.
struct Left;

/// Calls `f`. If `leave` returns true after a pause in one of `f`'s waits, `f` is abandoned by
/// unwinding its stack. Returns whether `f` has returned.
#[inline]
pub fn unless(leave: Leave<'_>, f: impl FnOnce()) -> bool {
    LEAVE.set((&raw const leave).cast());
    let done = catch_unwind(AssertUnwindSafe(f));
    LEAVE.set(null());
    match done {
        Ok(()) => true,
        Err(why) if why.is::<Left>() => false,
        Err(why) => resume_unwind(why),
    }
}

/// Calls `pause`, during which other coroutines may run. Afterwards it abandons the wait if the
/// function that [`unless`] was given returns true.
pub fn pausing(pause: impl FnOnce()) {
    let leave = LEAVE.replace(null());
    pause();
    LEAVE.set(leave);
    // SAFETY: `unless` has set the pointer, and does not return before this code does.
    if unsafe { leave.as_ref() }.is_some_and(|leave| leave()) {
        // `resume_unwind` unwinds like a panic, but prints nothing.
        resume_unwind(Box::new(Left));
    }
}

/// Calls `f` as the server's thread does: while it waits, other threads run but MPI makes no
/// progress.
pub fn as_server<R>(f: impl FnOnce() -> R) -> R {
    let before = SERVER.replace(true);
    let result = f();
    SERVER.set(before);
    result
}

/// Calls `f` in a coroutine. When `f` waits, the coroutine is suspended.
pub fn in_coroutine<R>(yielder: &Yielder<(), ()>, f: impl FnOnce() -> R) -> R {
    CURRENT.set(yielder);
    let result = f();
    CURRENT.set(null());
    result
}

/// In the server's thread, lets other coroutines or threads run. Returns whether this is the
/// server's thread.
pub fn give_way() -> bool {
    let current = CURRENT.replace(null());
    // SAFETY: `in_coroutine` has set the pointer and has not returned yet, or it is null.
    if let Some(yielder) = unsafe { current.as_ref() } {
        yielder.suspend(());
        CURRENT.set(current);
        return true;
    }
    let is_server = SERVER.get();
    if is_server {
        thread::yield_now();
    }
    is_server
}
