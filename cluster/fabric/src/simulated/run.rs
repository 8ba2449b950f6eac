//! Runs a simulation: ranks are coroutines, of which the engine says which one goes on.

use std::time::Duration;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::context;
use super::engine::Engine;
use super::rank::Simulated;
use super::simulation::Simulation;

/// Bytes of a rank's stack.
const STACK: usize = 128 * 1024;

/// What came of a simulation.
#[derive(Clone, Debug)]
pub struct Outcome<R> {
    /// What each rank has returned; `None` if it has died.
    pub results: Vec<Option<R>>,
    /// Until the last rank had returned.
    pub time: Duration,
    /// Operations that were begun.
    pub operations: u64,
}

impl Simulation {
    /// Runs a function as each rank until all have returned or died.
    ///
    /// # Panics
    ///
    /// If a rank panics, if simulated time passes the limit, which means that ranks wait for what
    /// never comes, or in a simulation.
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

/// The ranks' coroutines. Those that have begun and not returned are given up without their
/// destructors, which would use a fabric that is gone.
struct Coroutines<R>(Vec<Option<Coroutine<(), (), R>>>);

impl<R> Coroutines<R> {
    fn end(&mut self, rank: usize) {
        if let Some(mut coroutine) = self.0[rank].take()
            && coroutine.started()
            && !coroutine.done()
        {
            // SAFETY: nothing refers to what is on its stack: other ranks reach parts only, and the
            // engine has forgotten the yielder of one that is dead or is over itself.
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
    // SAFETY: the coroutine is over, or given up, before `run` returns, which has borrowed the body.
    unsafe { Coroutine::with_stack_unchecked(stack, run) }
}
