//! Finds the simulation that the running code is part of.

use std::cell::Cell;
use std::ptr;

use super::engine::{Engine, Then};

thread_local! {
    static ENGINE: Cell<*mut Engine> = const { Cell::new(ptr::null_mut()) };
}

/// A simulation that runs in this thread. Dropping this ends it.
pub(super) struct Running;

impl Drop for Running {
    fn drop(&mut self) {
        ENGINE.set(ptr::null_mut());
    }
}

/// Makes a simulation the one that runs in this thread.
pub(super) fn enter(engine: &mut Engine) -> Running {
    assert!(ENGINE.get().is_null(), "a simulation within a simulation");
    ENGINE.set(engine);
    Running
}

/// Calls a function with the simulation's engine. No simulated time passes.
pub(super) fn with<R>(act: impl FnOnce(&mut Engine) -> R) -> R {
    let engine = ENGINE.get();
    assert!(!engine.is_null(), "a simulated rank is used outside of its simulation");
    // SAFETY: `Simulation::run` gave the pointer to `enter`. Until the pointer is null again,
    // `Simulation::run` uses the engine only through this function. The reference ends with `act`,
    // which runs no coroutine and does not call this function.
    act(unsafe { &mut *engine })
}

/// Makes a request to the engine. If the engine says so, this rank is suspended and other ranks
/// run.
pub(super) fn wait(request: impl FnOnce(&mut Engine) -> Then) {
    if let Then::Suspend(yielder) = with(request) {
        // SAFETY: the yielder belongs to the coroutine that runs this code, and lives as long as
        // it.
        unsafe { (*yielder).suspend(()) }
    }
}
