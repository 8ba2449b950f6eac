//! Finds the simulation in which the running code is.

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

/// Enters a simulation in this thread.
pub(super) fn enter(engine: &mut Engine) -> Running {
    assert!(ENGINE.get().is_null(), "a simulation within a simulation");
    ENGINE.set(engine);
    Running
}

/// Calls a function on the simulation's engine; no simulated time passes.
pub(super) fn with<R>(act: impl FnOnce(&mut Engine) -> R) -> R {
    let engine = ENGINE.get();
    assert!(!engine.is_null(), "a simulated rank is used outside of its simulation");
    // SAFETY: `run` gave the pointer to `enter`, and uses the engine only by way of this function
    // until the pointer is null. The reference ends with `act`, which runs no coroutine and does
    // not call this function.
    act(unsafe { &mut *engine })
}

/// Makes a request to the engine, and lets other ranks run if the engine says so.
pub(super) fn wait(request: impl FnOnce(&mut Engine) -> Then) {
    if let Then::Suspend(yielder) = with(request) {
        // SAFETY: the yielder belongs to the coroutine that runs this, and lives as long.
        unsafe { (*yielder).suspend(()) }
    }
}
