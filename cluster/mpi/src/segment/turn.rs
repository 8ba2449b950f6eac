//! What runs while a lock waits: in a rank's own threads MPI gets on and others run; the server's
//! thread calls nothing of MPI, and goes on with something else where it can.

use std::cell::Cell;
use std::ptr::null;
use std::thread;

use corosensei::Yielder;

thread_local! {
    /// This thread is the server's.
    static SERVER: Cell<bool> = const { Cell::new(false) };
    /// The coroutine that runs, if any.
    static CURRENT: Cell<*const Yielder<(), ()>> = const { Cell::new(null()) };
}

/// Calls `f`, whose waits let other threads run and drive nothing.
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

/// Lets others run, if this is a server's thread. Whether it is.
pub fn give_way() -> bool {
    let current = CURRENT.replace(null());
    // SAFETY: it was set by `in_coroutine`, in which this runs, and is none where nothing is set.
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
