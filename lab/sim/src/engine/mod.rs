//! Runs simulated threads in the order of simulated time.
//!
//! A simulated thread is a coroutine. It runs until it has to wait for a moment of simulated time
//! before which another event is due. An access requests its line at once. The engine computes when
//! the line serves the access, which takes effect then. So effects come in the order of time, and
//! effects on one line in the order of the requests. Runs with the same seed are equal, bit for
//! bit.
//!
//! Most accesses need no switch of coroutines, since no other event is due before they are done.

mod access;
mod ahead;
mod buffer;
mod context;
mod messages;
mod processor;
mod queue;
mod sleep;
mod stack;
mod thread;
mod uncached;

use corosensei::{Coroutine, CoroutineResult, Yielder};
use rustc_hash::FxHashMap;

use crate::levels::Levels;
use crate::line::Line;
use crate::machine::Machine;
pub use access::Fresh;
use buffer::Words;
pub(crate) use buffer::{Storing, Until};
pub(crate) use context::{act, act_after, drain, wait, with};
pub use context::{delay, depends, execute, fence, flush, now};
use messages::Inboxes;
pub use messages::{receive, send};
use processor::Processor;
use queue::{Queue, Whom};
use sleep::Sleepers;
use stack::ThreadStack;
use thread::Thread;
use uncached::Shared;
pub(crate) use uncached::{release, reset, take, test_and_set};

pub use crate::line::ThreadId;

/// The number that [`Engine::run`] gets for a thread that is not pinned, instead of the number of a
/// hardware thread. Such a thread starts on the node with the fewest threads. If it has to wait for
/// its hardware thread, an idle one takes it over after a while.
pub const ANYWHERE: usize = usize::MAX;

/// The number of lines that can be found without a look-up in the hash map: more than most runs
/// use.
const RECENT: usize = 1024;

/// The code of a simulated thread.
pub type Body<'a> = Box<dyn FnOnce() + 'a>;

/// A machine on which threads run.
pub struct Engine<'m> {
    machine: &'m Machine,
    now: u64,
    events: Queue,
    threads: Vec<Thread>,
    current: ThreadId,
    processors: Vec<Processor>,
    sleepers: Sleepers,
    shared: Shared,
    inboxes: Inboxes,
    words: Words,
    lines: Vec<Line>,
    fresh: Fresh,
    levels: Levels,
    by_address: FxHashMap<usize, u32>,
    /// Lines that were looked up lately: the line's number (its address divided by the size of a
    /// line), and its index in `lines`. The low bits of the number are the position in this array.
    recent: Box<[(usize, u32); RECENT]>,
    random: u64,
    accesses: u64,
    /// The number of words of the current access.
    words_of_access: u64,
    /// Whether accesses also cost the cycles of their instructions.
    with_instructions: bool,
    /// Whether a word's line is fetched for writing before each load of the word.
    fetches: bool,
    /// Whether lines are already in the caches before their first access.
    warm: bool,
    /// The number of threads that run on each core.
    running: Vec<usize>,
}

/// The next step of the current thread after a request to the machine.
#[derive(Clone, Copy)]
pub(crate) enum Then {
    /// The thread goes on.
    GoOn,
    /// The thread suspends itself with this yielder. Other threads run until it goes on.
    Suspend(*const Yielder<(), ()>),
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The cycle in which the last thread was done.
    pub cycles: u64,
    /// The number of accesses to memory and registers.
    pub accesses: u64,
}

impl<'m> Engine<'m> {
    /// A machine on which no thread has run. The seed determines everything that is random on a
    /// real machine, such as the point of a waiter's loop at which it notices a change.
    pub fn new(machine: &'m Machine, seed: u64) -> Engine<'m> {
        Engine {
            machine,
            now: 0,
            events: Queue::default(),
            threads: Vec::new(),
            current: 0,
            processors: (0..machine.threads()).map(|_| Processor::default()).collect(),
            sleepers: Sleepers::default(),
            shared: Shared::of(machine),
            inboxes: Inboxes::of(machine),
            words: Words::default(),
            lines: Vec::new(),
            fresh: Fresh::Machine,
            levels: Levels::of(machine),
            by_address: FxHashMap::default(),
            recent: Box::new([(usize::MAX, 0); RECENT]),
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            accesses: 0,
            words_of_access: 1,
            with_instructions: true,
            fetches: false,
            warm: false,
            running: vec![0; machine.caches()],
        }
    }

    /// This engine, but with accesses that cost no instructions. Used to measure the cost of the
    /// accesses themselves.
    #[must_use]
    pub fn accesses_only(mut self) -> Engine<'m> {
        self.with_instructions = false;
        self
    }

    /// This engine. If `fetches`, its threads fetch a word's line for writing before each load of
    /// the word, like a program that executes the prefetch instruction before each load (SSYNC,
    /// section 5.3). Loads of data, which does not consist of words, fetch nothing.
    #[must_use]
    pub fn fetching_for_writing(mut self, fetches: bool) -> Engine<'m> {
        self.fetches = fetches;
        self
    }

    /// This engine, but with warm caches, as if all threads of the run had read all memory before
    /// it. Each of their caches holds each line, as far as it has room.
    #[must_use]
    pub fn warm(mut self) -> Engine<'m> {
        self.warm = true;
        self
    }

    /// Runs threads until all are done. Each body runs on the hardware thread whose number it is
    /// paired with, or on any hardware thread if the number is [`ANYWHERE`].
    ///
    /// # Panics
    /// If a thread panics, if a number is not that of a hardware thread, if all remaining threads
    /// wait for ever (a deadlock), or if the caller is in a simulation already.
    pub fn run(mut self, threads: Vec<(usize, Body<'_>)>) -> Outcome {
        let mut coroutines = Vec::with_capacity(threads.len());
        for (number, (processor, body)) in threads.into_iter().enumerate() {
            let there = processor == ANYWHERE || processor < self.machine.threads();
            assert!(there, "there is no hardware thread {processor}");
            coroutines.push(self.start(number as ThreadId, processor, body));
        }
        (0..self.lines.len() as u32).for_each(|line| self.warm_up(line));
        let mut left = coroutines.len();
        let here = context::enter(&mut self);
        while left > 0 {
            let Some(thread) = with(Engine::next).flatten() else {
                panic!("{left} threads sleep, and no thread is left to wake them");
            };
            if let CoroutineResult::Return(()) = coroutines[thread as usize].resume(()) {
                left -= 1;
                with(|engine| {
                    engine.threads[thread as usize].done = true;
                    engine.leave_processor(thread);
                });
            }
        }
        drop(here);
        coroutines.into_iter().for_each(|coroutine| coroutine.into_stack().keep());
        Outcome { cycles: self.now, accesses: self.accesses }
    }

    /// Makes the thread that goes on next the current one, and returns it; `None` if no event is
    /// left.
    fn next(&mut self) -> Option<ThreadId> {
        loop {
            let event = self.events.pop()?;
            self.now = self.now.max(event.at);
            if let Some(thread) = self.runs_next(event) {
                self.current = thread;
                let state = &mut self.threads[thread as usize];
                state.went_on = state.went_on.wrapping_add(1);
                return Some(thread);
            }
        }
    }

    fn start<'a>(
        &mut self,
        number: ThreadId,
        processor: usize,
        body: Body<'a>,
    ) -> Coroutine<(), (), (), ThreadStack> {
        let pinned = processor != ANYWHERE;
        let processor = if pinned { processor } else { self.idlest() };
        let cache = self.machine.cache_of(processor) as u32;
        self.threads.push(Thread::new(processor as u32, cache, pinned));
        // SAFETY: the coroutine, which owns the body, ends or is dropped within `run`, even if
        // another coroutine panics. What the body borrows outlives the call of `run`.
        let body: Body<'static> = unsafe { std::mem::transmute::<Body<'a>, Body<'static>>(body) };
        let stack = ThreadStack::new(number);
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            with(|engine| engine.threads[number as usize].yielder = yielder);
            body();
        });
        self.join_processor(number);
        coroutine
    }

    /// Plans that a thread goes on in the cycle `at`.
    fn plan(&mut self, at: u64, thread: ThreadId) {
        let went_on = self.threads[thread as usize].went_on;
        self.events.plan(at, Whom::Thread(thread, went_on));
    }

    /// The current thread suspends itself until an event lets it go on; other threads run
    /// meanwhile.
    fn suspend(&self) -> Then {
        Then::Suspend(self.threads[self.current as usize].yielder)
    }

    /// Lets time pass for the current thread until the cycle `at`.
    #[inline]
    fn pass_until(&mut self, at: u64) -> Then {
        // An event of the same cycle was planned earlier, so it comes first.
        if self.events.is_due(at) {
            self.plan(at, self.current);
            return self.suspend();
        }
        self.now = at;
        Then::GoOn
    }

    /// The cycle in which the current thread's latest access was done, without the instructions
    /// that belong to it; the present cycle if time has passed since then.
    fn done_at(&self) -> u64 {
        let latest = self.threads.get(self.current as usize).map_or((0, 0), |t| t.instructions);
        if latest.0 == self.now { self.now - latest.1 } else { self.now }
    }

    /// A random number below `below`.
    fn chance(&mut self, below: u64) -> u64 {
        // Marsaglia's xorshift.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((u128::from(self.random) * u128::from(below)) >> 64) as u64
    }

    /// The current thread.
    pub(crate) fn thread(&self) -> ThreadId {
        self.current
    }

    /// The node of the current thread.
    pub(crate) fn node(&self) -> usize {
        self.machine.node_of(self.threads[self.current as usize].cache as usize)
    }

    /// The number of the current thread's group of near processors at this level.
    pub(crate) fn group(&self, level: usize) -> usize {
        self.machine.group(self.node(), level)
    }

    /// Whether this level has several groups of near processors.
    pub(crate) fn is_divided(&self, level: usize) -> bool {
        (0..self.machine.description.nodes).any(|node| self.machine.group(node, level) > 0)
    }

    /// The time in seconds. Records that the current thread has asked for the time.
    pub(crate) fn seconds(&mut self) -> f64 {
        self.threads[self.current as usize].asked_time = true;
        self.now as f64 / self.machine.description.hertz
    }
}
