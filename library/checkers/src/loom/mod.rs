//! The memory of the model checker loom.
//!
//! Loom runs a case again and again, each time with another interleaving and with other results of
//! loads that may return stale values, until it has tried all different executions within its
//! bounds. It follows C11, with these exceptions:
//!
//! - **SeqCst accesses are treated as AcqRel**, except for one use: if two threads each change a
//!   word and then read the other's, at least one sees the other's change. For this use, words add
//!   a fence, which loom supports (`words.rs`). Words of 64 bits have a fence at every SeqCst
//!   access (`long.rs`). An algorithm that needs more of SeqCst fails here although it is correct.
//! - **No load buffering**: a load never sees a store that comes later in time. No algorithm here
//!   passes a value in a circle through Relaxed words; nothing checks that.
//! - **Only the last seven stores** of a word are remembered: a load never returns an older value.
//! - **A read-modify-write sees the latest store**, as in C11. In loom, so does a compare-exchange
//!   that fails.
//!
//! In addition, this memory has these properties:
//!
//! - **Barriers**, light and heavy, are both loom's fences. That is a little stronger than
//!   promised: here, two light barriers order each other.
//! - **Waiting.** A thread that pauses lets others run. From a thread's second unsuccessful poll
//!   on, loom stops branching in this execution (`skip_branch`): a further unsuccessful poll
//!   changes nothing, and there is another execution in which the thread polls later. Safety is
//!   still checked in full if an unsuccessful poll writes nothing. *Progress of spinning threads is
//!   not*: only in the schedules that are run would an endless wait exceed the limit of branches.
//!   Parked threads are checked in full, since sleeping is not a pause.
//! - **Sleeping** works like the kernel's futex: comparing the word and falling asleep are one
//!   step, and sleepers wake in order of arrival. If all threads sleep, loom reports a deadlock.
//!   One property is stronger than promised: a thread that is woken sees what the waker did before.
//!   So a wrong ordering shows only in executions in which a waiter finds its word written without
//!   having slept. These are explored too.
//! - **Time** is open: at every reading of the clock a deadline may have passed or not. It has
//!   passed if the thread has seen that before, or has waited since it last read the clock. A
//!   sleeper with a deadline is woken or reaches it, whichever comes first. Both outcomes of every
//!   timed wait are explored.
//! - **Life.** Each access to a word or node must happen before its end, in the sense of C11, as
//!   with loom's cells. So a node that is freed too early is found even if the access came first in
//!   time. No node is reused in an execution, and all must be freed when the execution ends.
//!
//! **The bound on preemptions** leaves out executions with more preemptions, that is, switches away
//! from a thread that could continue. Switches at waits are not counted.

mod blocks;
mod execution;
mod long;
mod stacks;
mod words;

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{self, SeqCst};
use std::thread::panicking;
use std::time::{Duration, Instant};

use loom::sync::atomic::fence;
use syncline::memory::{Address, Data, Memory, OnStack};

use self::execution::Execution;
pub use self::words::{LoomLink, LoomRef, LoomWord};
use crate::engine::Engine;

/// The model checker's memory; for use in [`model`] only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loom;

/// The bounds of an exploration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// How often running threads may be preempted in an execution; `None` for no bound.
    pub preemptions: Option<usize>,
    /// How many executions to run at most; `None` for no bound.
    pub executions: Option<usize>,
    /// Whether deadlines may pass.
    pub timed: bool,
}

/// The result of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct Explored {
    /// The number of executions that were run.
    pub executions: usize,
    /// Whether these were all executions within the bound on preemptions.
    pub complete: bool,
    /// How long the exploration took.
    pub time: Duration,
}

/// The most executions of a case that a test explores. The test prints how many there were, and
/// whether these were all.
#[derive(Clone, Copy, Debug)]
pub struct Executions(pub usize);

impl Executions {
    /// Explores executions with up to `preemptions` preemptions.
    pub fn explore(self, preemptions: usize, case: impl Fn() + Send + Sync + 'static) {
        self.run(preemptions, false, Arc::new(case));
    }

    /// Explores executions with up to `preemptions` preemptions, in which deadlines may pass.
    pub fn explore_timed(self, preemptions: usize, case: impl Fn() + Send + Sync + 'static) {
        self.run(preemptions, true, Arc::new(case));
    }

    fn run(self, preemptions: usize, timed: bool, case: Arc<dyn Fn() + Send + Sync>) {
        let (preemptions, executions) = (Some(preemptions), Some(self.0));
        let explored = model_of(Bounds { preemptions, executions, timed }, case);
        let all = if explored.complete { "all" } else { "cut short" };
        println!("{} executions, {all}", explored.executions);
    }
}

/// The most branches of an execution. An execution with more fails, as it is probably endless.
const LONGEST: usize = 3000;

/// Explores the executions of a case. Panics in the first one that fails.
pub fn model(bounds: Bounds, case: impl Fn() + Send + Sync + 'static) -> Explored {
    model_of(bounds, Arc::new(case))
}

/// Does the work of [`model`]. Not generic, so it is compiled once and not for each of a thousand
/// cases.
fn model_of(bounds: Bounds, case: Arc<dyn Fn() + Send + Sync>) -> Explored {
    let start = Instant::now();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = bounds.preemptions;
    builder.max_branches = LONGEST;
    if let Some(executions) = bounds.executions {
        // Loom checks the limit once per interval, before it runs an execution: here, after
        // `executions` of them.
        builder.checkpoint_interval = executions + 1;
        builder.max_permutations = Some(executions + 1);
    }
    // From `LOOM_MAX_DURATION` in the environment, in seconds.
    let longest = builder.max_duration;
    let executions = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&executions);
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        Execution::start(bounds.timed);
        case();
        Execution::end();
    });
    let executions = executions.load(Ordering::Relaxed);
    let time = start.elapsed();
    let complete = bounds.executions.is_none_or(|limit| executions < limit)
        && longest.is_none_or(|limit| time < limit);
    Explored { executions, complete, time }
}

/// Does the work of [`Loom::run`]; not generic, so it is compiled once.
fn run_all(threads: usize, body: &Arc<dyn Fn(usize) + Send + Sync>) {
    let others: Vec<_> = (1..threads)
        .map(|thread| {
            let body = Arc::clone(body);
            loom::thread::spawn(move || {
                Execution::introduce(thread);
                body(thread);
            })
        })
        .collect();
    Execution::introduce(0);
    body(0);
    for thread in others {
        thread.join().expect("a thread ends");
    }
}

impl Loom {
    /// Runs `body` in `threads` threads, numbered from 0, and waits until all have ended. Thread 0
    /// is the calling thread.
    pub fn run(threads: usize, body: impl Fn(usize) + Send + Sync + 'static) {
        run_all(threads, &(Arc::new(body) as Arc<_>));
    }

    /// This thread's number.
    pub fn number() -> usize {
        Execution::number()
    }

    /// Waits until the given thread has waited; used while a scene is being set up.
    pub fn wait_for_waiter(thread: usize) {
        while !Execution::has_waited(thread) {
            loom::thread::yield_now();
        }
    }

    /// Ends the setup of a scene if `explore` is set; begins it otherwise. The setup is the same in
    /// every execution.
    pub fn arrange(explore: bool) {
        Execution::explore(explore);
    }

    /// A time that the clock may or may not have reached.
    pub fn soon() -> Duration {
        execution::DEADLINE
    }
}

impl Engine for Loom {
    fn run(threads: usize, body: impl Fn(usize) + Send + Sync + 'static) {
        Self::run(threads, body);
    }
    fn number() -> usize {
        Self::number()
    }
    fn wait_for_waiter(thread: usize) {
        Self::wait_for_waiter(thread);
    }
    fn arrange() {
        Self::arrange(false);
    }
    fn explore() {
        Self::arrange(true);
    }
    fn soon() -> Duration {
        Self::soon()
    }
    fn read<T: Copy>(data: &Self::Data<T>) -> T {
        // SAFETY: the data lives; loom checks that no thread changes it.
        data.read(|value| unsafe { *value })
    }
}

// SAFETY: the words and links are loom's atomics; a reference is a pointer to its node.
unsafe impl Memory for Loom {
    type Word = LoomWord;
    type Link<T> = LoomLink<T>;
    type Ref<T> = LoomRef<T>;
    type Data<T> = LoomData<T>;
    type Own<T: Default> = OnStack<T>;

    /// One poll is enough: loom suspends spinning waiters, and waiters that can sleep should do so
    /// soon.
    const PATIENCE: u32 = 1;
    const BATCH: u32 = 2;

    fn refer<T>(node: &T) -> LoomRef<T> {
        LoomRef(NonNull::from_ref(node))
    }

    unsafe fn follow<'a, T: 'a>(node: LoomRef<T>) -> &'a T {
        Execution::follow(node.0.cast());
        // SAFETY: the caller promises that the node is alive; if it is from `allocate`, that was
        // just checked.
        unsafe { node.0.as_ref() }
    }

    fn allocate<T: Default>() -> LoomRef<T> {
        let value = T::default();
        let place = Execution::allocate::<T>();
        // SAFETY: the memory is new, and large enough.
        unsafe { place.write(value) };
        LoomRef(place)
    }

    unsafe fn free<T>(node: LoomRef<T>) {
        // A failed execution is torn down in any order.
        if panicking() {
            return;
        }
        Execution::free(node.0.cast());
        // SAFETY: the node was written in `allocate`, and was not freed yet. Its memory stays
        // allocated, so a later access to one of its words still finds the word's number, and is
        // reported.
        unsafe { node.0.drop_in_place() };
    }

    fn pause(_: u32) {
        Execution::pause();
    }

    /// Does nothing: time is not modelled, and every delay is followed by a poll or a pause.
    fn delay(_: u32) {}

    fn yield_now() {
        Execution::pause();
    }

    fn park(word: &LoomWord, expected: u32, key: u32, deadline: Option<Duration>) {
        Execution::park(word.id(), expected, key, deadline.is_some());
    }

    fn unpark(address: Address, key: Option<u32>, count: u32) {
        Execution::unpark(address.0, key, count);
    }

    fn now() -> Duration {
        Execution::now()
    }

    fn group(level: usize) -> usize {
        let processor = Execution::processor();
        if level == 0 { processor / 2 } else { processor }
    }

    fn prefetch_for_write(_: &LoomWord) {}

    fn light_barrier() {
        fence(SeqCst);
    }

    fn heavy_barrier() {
        fence(SeqCst);
    }
}

/// Ordinary data; loom reports accesses that are not ordered.
#[derive(Debug)]
pub struct LoomData<T>(loom::cell::UnsafeCell<T>);

// SAFETY: loom checks that accesses take turns.
unsafe impl<T: Send> Sync for LoomData<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for LoomData<T> {}

impl<T> Data<T> for LoomData<T> {
    fn new(value: T) -> Self {
        Self(loom::cell::UnsafeCell::new(value))
    }

    unsafe fn with<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        self.0.with_mut(access)
    }

    unsafe fn look<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
        self.0.with(access)
    }

    fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T> LoomData<T> {
    /// Calls a function with the data's address, for reading.
    pub fn read<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
        self.0.with(access)
    }
}
