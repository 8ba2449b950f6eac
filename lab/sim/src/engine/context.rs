//! The simulation that the running code is a part of. Words of a simulated memory are plain
//! numbers, and find their machine through this module.
//!
//! Functions that are called often and may wait are `#[inline]`, here and in
//! [`memory`](crate::memory). A processor predicts the address to which a function returns from the
//! latest calls. But after a switch of simulated threads, another thread has made the latest calls.
//! Without inlining, a simulation of a contended lock takes 1.5 times as long.

use std::cell::Cell;

use super::{Engine, Then, Until};
use crate::machine::State;

thread_local! {
    static ENGINE: Cell<*mut Engine<'static>> = const { Cell::new(std::ptr::null_mut()) };
}

/// Takes this thread of the operating system out of the simulation when dropped.
pub struct Here;

impl Drop for Here {
    fn drop(&mut self) {
        ENGINE.set(std::ptr::null_mut());
    }
}

/// Puts this thread of the operating system into a simulation, until the returned value is dropped.
///
/// # Panics
/// If the thread is in a simulation already.
pub fn enter(engine: &mut Engine<'_>) -> Here {
    assert!(ENGINE.get().is_null(), "a simulation within a simulation");
    ENGINE.set(std::ptr::from_mut(engine).cast());
    Here
}

/// Calls `act` with the engine of this simulation; no simulated time passes. Returns `None` outside
/// of a simulation.
#[inline]
pub(crate) fn with<R>(act: impl FnOnce(&mut Engine<'static>) -> R) -> Option<R> {
    let engine = ENGINE.get();
    if engine.is_null() {
        return None;
    }
    // SAFETY: `run` gave the pointer to `enter`, and uses the engine only through this function
    // until `Here` is dropped, which sets the pointer to null. The reference ends with `act`, which
    // lets no other coroutine run and does not call this function again.
    Some(act(unsafe { &mut *engine }))
}

/// Sends a request of the running simulated thread to the machine. Time may pass, and other threads
/// may run, before this function returns. Does nothing outside of a simulation.
#[inline]
pub(crate) fn act(request: impl FnOnce(&mut Engine<'static>) -> Then) {
    if let Some(then) = with(request) {
        wait(then);
    }
}

/// Lets other threads run if `then` says so.
#[inline]
pub(crate) fn wait(then: Then) {
    if let Then::Suspend(yielder) = then {
        // SAFETY: the yielder belongs to the coroutine that runs this code, and lives as long.
        unsafe { (*yielder).suspend(()) }
    }
}

/// Sends a request like [`act`]. Before that, calls `first` and waits as the result says, until
/// `first` returns `None`.
#[inline]
pub(crate) fn act_after(
    first: impl Fn(&mut Engine<'static>) -> Option<Then>,
    request: impl Fn(&mut Engine<'static>) -> Then,
) {
    loop {
        let step = with(|engine| match first(engine) {
            Some(then) => (then, true),
            None => (request(engine), false),
        });
        let Some((then, again)) = step else { return };
        wait(then);
        if !again {
            return;
        }
    }
}

/// Waits until the stores of the running simulated thread have taken effect for all threads, as a
/// memory fence does. Does nothing outside of a simulation.
#[inline]
pub fn fence() {
    drain();
    with(Engine::depends);
}

/// Waits until the stores of the running simulated thread have taken effect. Unlike [`fence`], this
/// does not keep the core from beginning the next accesses earlier.
#[inline]
pub(crate) fn drain() {
    while let Some(Some(then)) = with(|engine| engine.wait_until(Until::Empty)) {
        wait(then);
    }
}

/// Tells the machine that the running simulated thread's next step needs the value that the thread
/// has just loaded, so that its core can't have begun that step. Does nothing outside of a
/// simulation.
pub fn depends() {
    with(Engine::depends);
}

/// Lets this many cycles pass, in which the running simulated thread does not use shared memory.
/// Does nothing outside of a simulation.
#[inline]
pub fn delay(cycles: u64) {
    act(|engine| engine.delay(cycles));
}

/// Lets the running simulated thread execute this many instructions that access no memory. Does
/// nothing outside of a simulation.
#[inline]
pub fn execute(instructions: u64) {
    act(|engine| {
        let cycles = engine.executing(instructions);
        engine.delay(cycles)
    });
}

/// Makes all caches give up the line of an address, as x86's `clflush` does. Takes no time. Does
/// nothing outside of a simulation.
pub fn flush(address: usize) {
    with(|engine| engine.prepare(address, State::Invalid, &[]));
}

/// The current cycle of the simulation; 0 outside of one. Right after an access, this is the cycle
/// in which the access was done, before the instructions that belong to it.
pub fn now() -> u64 {
    with(|engine| engine.done_at()).unwrap_or(0)
}
