//! Runs a simulation: the ranks are coroutines, and the engine chooses which of them continues.

use std::time::Duration;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::context;
use super::engine::Engine;
use super::rank::Simulated;
use super::simulation::Simulation;

/// The size of a rank's stack in bytes.
const STACK: usize = 128 * 1024;

/// The result of a simulation.
#[derive(Clone, Debug)]
pub struct Outcome<R> {
    /// The value that each rank has returned, or `None` if the rank has died.
    pub results: Vec<Option<R>>,
    /// The simulated time at which the last rank had returned or died.
    pub time: Duration,
    /// The number of operations that were begun.
    pub operations: u64,
}

impl Simulation {
    /// Runs a function as each rank, until all ranks have returned or died.
    ///
    /// # Panics
    ///
    /// If a rank panics. If simulated time exceeds the limit, usually because ranks wait for
    /// something that never comes. If this function is called within a simulation.
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
            let coroutine =
                coroutines.0[rank].as_mut().expect("a rank that is resumed has not ended");
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

/// The coroutines of the ranks. A coroutine that has begun and not returned is abandoned without
/// running its destructors, since these would use a dead rank, or a fabric that no longer exists.
struct Coroutines<R>(Vec<Option<Coroutine<(), (), R>>>);

impl<R> Coroutines<R> {
    fn end(&mut self, rank: usize) {
        if let Some(mut coroutine) = self.0[rank].take()
            && coroutine.started()
            && !coroutine.done()
        {
            // SAFETY: nothing refers to values on the coroutine's stack. Other ranks access only
            // parts. The engine no longer uses the yielder of this rank, because the rank is dead
            // or the engine no longer exists.
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
    // SAFETY: the coroutine has ended or is abandoned before `Simulation::run` returns, and
    // `Simulation::run` has borrowed the body until then.
    unsafe { Coroutine::with_stack_unchecked(stack, run) }
}
