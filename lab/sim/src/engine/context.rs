//! Which simulation the running code is in: the words of a simulated memory are plain numbers,
//! and find the machine that they are part of here.

use std::cell::Cell;

use super::{Engine, Then, Until};
use crate::machine::State;

thread_local! {
    static ENGINE: Cell<*mut Engine<'static>> = const { Cell::new(std::ptr::null_mut()) };
}

/// Ends a simulation when it is dropped.
pub struct Here;

impl Drop for Here {
    fn drop(&mut self) {
        ENGINE.set(std::ptr::null_mut());
    }
}

/// From now on this thread is in a simulation.
///
/// # Panics
/// If it is in one already.
pub fn enter(engine: &mut Engine<'_>) -> Here {
    assert!(ENGINE.get().is_null(), "a simulation within a simulation");
    ENGINE.set(std::ptr::from_mut(engine).cast());
    Here
}

/// Does something that takes no time with the machine of this simulation; nothing, and gives
/// none, outside of one.
#[inline]
pub(crate) fn with<R>(act: impl FnOnce(&mut Engine<'static>) -> R) -> Option<R> {
    let engine = ENGINE.get();
    if engine.is_null() {
        return None;
    }
    // SAFETY: `enter` was given it by `run`, which uses it only by way of this function until
    // it has set the pointer to null. The reference ends with `act`, which lets no other
    // coroutine run and does not come here again.
    Some(act(unsafe { &mut *engine }))
}

/// Does something that the running simulated thread asks of the machine; nothing outside of a
/// simulation. Time may pass, and others may run, before it returns.
#[inline]
pub(crate) fn act(request: impl FnOnce(&mut Engine<'static>) -> Then) {
    if let Some(then) = with(request) {
        wait(then);
    }
}

/// Lets others run if the machine says so.
#[inline]
pub(crate) fn wait(then: Then) {
    if let Then::Suspend(yielder) = then {
        // SAFETY: it is the yielder of the coroutine that runs this, and lives as long.
        unsafe { (*yielder).suspend(()) }
    }
}

/// The same, once the running simulated thread has waited for what `first` says: that is asked until
/// there is nothing to wait for.
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

/// Waits until the stores of the running simulated thread have taken effect for all, as by a
/// memory fence; nothing outside of a simulation.
pub fn fence() {
    drain();
    with(Engine::depends);
}

/// The running simulated thread waits until its stores have taken effect; its core may have begun
/// what comes next.
#[inline]
pub(crate) fn drain() {
    while let Some(Some(then)) = with(|engine| engine.wait_until(Until::Empty)) {
        wait(then);
    }
}

/// What the running simulated thread does next needs what it has just loaded, so its core has not
/// begun it yet.
pub fn depends() {
    with(Engine::depends);
}

/// The running simulated thread does something else than to use shared memory for this many cycles.
pub fn delay(cycles: u64) {
    act(|engine| engine.delay(cycles));
}

/// The running simulated thread executes this many instructions that access no memory; nothing
/// happens outside of a simulation.
pub fn execute(instructions: u64) {
    act(|engine| {
        let cycles = engine.executing(instructions);
        engine.delay(cycles)
    });
}

/// All caches give up the line of an address, as by x86's `clflush`. Takes no time; nothing
/// happens outside of a simulation.
pub fn flush(address: usize) {
    with(|engine| engine.prepare(address, State::Invalid, &[]));
}

/// The cycle of the simulation; 0 outside of one. Right after an access, it is the one in which that
/// was done: the instructions that come with it are what is done next.
pub fn now() -> u64 {
    with(|engine| engine.done_at()).unwrap_or(0)
}
