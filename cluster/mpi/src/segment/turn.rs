//! What runs while a lock waits. In a rank's own threads, MPI makes progress and other threads run.
//! The server's thread calls nothing of MPI, and continues with something else if it can. Some
//! waits can be abandoned ([`unless`]).

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null;
use std::thread;

use corosensei::Yielder;

thread_local! {
    /// Whether this thread runs a function of [`as_server`].
    static SERVER: Cell<bool> = const { Cell::new(false) };
    /// The coroutine that runs, if any.
    static CURRENT: Cell<*const Yielder<(), ()>> = const { Cell::new(null()) };
    /// The function that decides whether the wait is abandoned, if it may be.
    static LEAVE: Cell<*const Leave<'static>> = const { Cell::new(null()) };
}

type Leave<'a> = &'a dyn Fn() -> bool;

/// The payload of the unwinding that leaves a wait.
struct Left;

/// Calls `f`, and abandons it by unwinding if `leave` returns true after a pause of a wait. Returns
/// whether `f` has returned.
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

/// Calls `pause`, in which other coroutines may run, and then abandons the wait if the function of
/// [`unless`] returns true.
pub fn pausing(pause: impl FnOnce()) {
    let leave = LEAVE.replace(null());
    pause();
    LEAVE.set(leave);
    // SAFETY: `unless` has set it, and does not return before the code that runs here.
    if unsafe { leave.as_ref() }.is_some_and(|leave| leave()) {
        // Not a panic: nothing is printed.
        resume_unwind(Box::new(Left));
    }
}

/// Calls `f`, whose waits let other threads run but do not drive MPI's progress.
pub fn as_server<R>(f: impl FnOnce() -> R) -> R {
    let before = SERVER.replace(true);
    let result = f();
    SERVER.set(before);
    result
}

/// Calls `f` in a coroutine, whose waits suspend it.
pub fn in_coroutine<R>(yielder: &Yielder<(), ()>, f: impl FnOnce() -> R) -> R {
    CURRENT.set(yielder);
    let result = f();
    CURRENT.set(null());
    result
}

/// Lets others run if this is a server's thread. Returns whether it is.
pub fn give_way() -> bool {
    let current = CURRENT.replace(null());
    // SAFETY: it was set by `in_coroutine`, within which this runs; otherwise it is null.
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
