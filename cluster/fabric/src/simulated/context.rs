//! Which simulation the running code is in.

use std::cell::Cell;
use std::ptr;

use super::engine::{Engine, Then};

thread_local! {
    static ENGINE: Cell<*mut Engine> = const { Cell::new(ptr::null_mut()) };
}

/// Ends a simulation when it is dropped.
pub(super) struct Running;

impl Drop for Running {
    fn drop(&mut self) {
        ENGINE.set(ptr::null_mut());
    }
}

/// From now on this thread is in a simulation.
pub(super) fn enter(engine: &mut Engine) -> Running {
    assert!(ENGINE.get().is_null(), "a simulation within a simulation");
    ENGINE.set(engine);
    Running
}

/// Does something with the simulation that takes no time.
pub(super) fn with<R>(act: impl FnOnce(&mut Engine) -> R) -> R {
    let engine = ENGINE.get();
    assert!(!engine.is_null(), "a simulated rank is used outside of its simulation");
    // SAFETY: `enter` was given it by `run`, which uses it only by way of this function until the
    // pointer is null. The reference ends with `act`, which runs no coroutine and does not come here.
    act(unsafe { &mut *engine })
}

/// Does something with the simulation, and has others run if it says so.
pub(super) fn wait(request: impl FnOnce(&mut Engine) -> Then) {
    if let Then::Suspend(yielder) = with(request) {
        // SAFETY: the yielder of the coroutine that runs this, which lives as long.
        unsafe { (*yielder).suspend(()) }
    }
}
