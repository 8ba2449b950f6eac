//! Runs a simulation: ranks are coroutines, and the engine chooses which one continues.

use std::time::Duration;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::context;
use super::engine::Engine;
use super::rank::Simulated;
use super::simulation::Simulation;

/// Stack size of a rank in bytes.
const STACK: usize = 128 * 1024;

/// The result of a simulation.
#[derive(Clone, Debug)]
pub struct Outcome<R> {
    /// What each rank has returned; `None` if it has died.
    pub results: Vec<Option<R>>,
    /// The simulated time until the last rank had returned or died.
    pub time: Duration,
    /// The number of operations that were begun.
    pub operations: u64,
}

impl Simulation {
    /// Runs a function as each rank until all have returned or died.
    ///
    /// # Panics
    ///
    /// If a rank panics, if simulated time exceeds the limit, which means that ranks wait for
    /// something that never comes, or if called within a simulation.
    pub fn run<R>(&self, body: impl Fn(Simulated) -> R) -> Outcome<R> {
        let mut engine = Engine::new(self);
        let count = engine.ranks.len();
        let mut coroutines = Coroutines((0..count).map(|rank| Some(start(rank, &body))).collect());
        let mut results: Vec<Option<R>> = (0..count).map(|_| None).collect();
        engine.begin();
        let mut left = count;
        let running = context::enter(&mut engine);
        while left > 0 {
            let rank = context::with(Engine::next);
            let coroutine = coroutines.0[rank].as_mut().expect("who is resumed lives");
            if let CoroutineResult::Return(result) = coroutine.resume(()) {
                results[rank] = Some(result);
                left -= 1;
            } else if context::with(|engine| engine.ranks[rank].dead) {
                coroutines.end(rank);
                left -= 1;
            }
        }
        drop(running);
        let time = Duration::from_nanos(engine.now);
        Outcome { results, time, operations: engine.issued }
    }
}

/// The ranks' coroutines. Those that have begun and not returned are abandoned without running
/// their destructors, which would use a fabric that is gone.
struct Coroutines<R>(Vec<Option<Coroutine<(), (), R>>>);

impl<R> Coroutines<R> {
    fn end(&mut self, rank: usize) {
        if let Some(mut coroutine) = self.0[rank].take()
            && coroutine.started()
            && !coroutine.done()
        {
            // SAFETY: nothing refers to values on its stack: other ranks access parts only, and the
            // engine either has forgotten the yielder of this dead rank or is gone itself.
            unsafe { coroutine.force_reset() };
        }
    }
}

impl<R> Drop for Coroutines<R> {
    fn drop(&mut self) {
        (0..self.0.len()).for_each(|rank| self.end(rank));
    }
}

fn start<R>(rank: usize, body: &impl Fn(Simulated) -> R) -> Coroutine<(), (), R> {
    let stack = DefaultStack::new(STACK).expect("there is memory for a rank's stack");
    let run = move |yielder: &Yielder<(), ()>, ()| {
        context::with(|engine| engine.ranks[rank].yielder = yielder);
        body(Simulated::new(rank))
    };
    // SAFETY: the coroutine ends or is abandoned before `run`, which has borrowed the body,
    // returns.
    unsafe { Coroutine::with_stack_unchecked(stack, run) }
}
