//! The memory of the randomized checker shuttle: at every access another thread may continue, and a
//! scheduler draws which one. **Sequentially consistent**: orderings are ignored here, so only loom
//! finds wrong ones. In exchange, cases can have many threads and rounds.
//!
//! Two schedulers are used: the uniformly random one, and PCT (probabilistic concurrency testing).
//! PCT changes the threads' priorities at a few points, and thereby reaches deep interleavings.
//! Sleeping works like the kernel's futex, as with [`Loom`](crate::Loom); the clock advances
//! whenever a thread reads it.

mod blocks;
mod deaths;
mod long;
mod words;

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread::panicking;
use std::time::Duration;

use shuttle::rand::Rng;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::atomic::AtomicU32;
use shuttle::thread::Thread;
use shuttle::{Config, MaxSteps, Runner};
use syncline::memory::{Address, Data, Memory, OnStack, Word};

use self::deaths::Deadly;
pub use self::deaths::{is_dead, survived};
pub use self::words::{ShuttleLink, ShuttleRef, ShuttleWord};
use crate::engine::Engine;
use crate::nodes::Nodes;

/// The randomized checker's memory; for use in [`randomly`] only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shuttle;

/// The most steps of an execution. An execution with more fails, as it is probably endless.
const LONGEST: usize = 100_000;
/// How many readings of the clock ahead a deadline is: enough for a waiter to wait at least once.
const SOON: Range<u64> = 3..15;
const SEED: u64 = 1991;
/// The number of priority changes that PCT makes.
const PCT_DEPTH: usize = 3;

/// How far the clock advances per reading, in nanoseconds, in executions in which a thread dies: so
/// far that a waiter has waited for a long time after a few readings.
const TICK: u64 = 30_000_000;

/// Runs a case `executions` times under each of the two schedulers. Panics if it fails.
pub fn randomly(executions: usize, case: impl Fn() + Send + Sync + 'static) {
    draw(executions, Arc::new(case));
}

/// Does the work of [`randomly`]. Not generic, so it is compiled once and not for each case.
fn draw(executions: usize, case: Arc<dyn Fn() + Send + Sync>) {
    let config = config();
    let run = move || {
        CURRENT.set(Execution::default());
        case();
        let alive = with(|e| e.nodes.alive());
        assert!(alive == 0, "{alive} nodes were never freed");
    };
    let random = RandomScheduler::new_from_seed(SEED, executions);
    Runner::new(random, config.clone()).run(run.clone());
    let pct = PctScheduler::new_from_seed(SEED, PCT_DEPTH, executions);
    Runner::new(pct, config).run(run);
}

/// Runs a case of `threads` threads `executions` times under each of the two schedulers. In each
/// execution thread 1 dies, unless it has ended before. All others must report that they have
/// [`survived`]. Panics if one of them does not, or if the case fails.
pub fn dying(executions: usize, threads: usize, case: impl Fn() + Send + Sync + 'static) {
    let case = Arc::new(move || {
        CURRENT.set(Execution { tick: TICK, ..Execution::default() });
        case();
    });
    let again = Arc::clone(&case);
    let random = RandomScheduler::new_from_seed(SEED, executions);
    Runner::new(Deadly::new(random, threads), config()).run(move || case());
    let pct = PctScheduler::new_from_seed(SEED, PCT_DEPTH, executions);
    Runner::new(Deadly::new(pct, threads), config()).run(move || again());
}

fn config() -> Config {
    let mut config = Config::new();
    config.max_steps = MaxSteps::FailAfter(LONGEST);
    config.failure_persistence = shuttle::FailurePersistence::None;
    config.silence_warnings = true;
    config
}

/// The table of one execution, whose threads run in turn on one system thread.
#[derive(Default)]
struct Execution {
    nodes: Nodes,
    sleepers: Vec<Sleeper>,
    /// The threads that have waited.
    waited: Vec<usize>,
    time: u64,
    /// Each reading of the clock advances it by one nanosecond more than this.
    tick: u64,
}

struct Sleeper {
    word: usize,
    key: u32,
    thread: Thread,
}

std::thread_local! {
    static CURRENT: RefCell<Execution> = RefCell::default();
}

shuttle::thread_local! {
    static NUMBER: Cell<usize> = Cell::new(0);
}

fn with<R>(what: impl FnOnce(&mut Execution) -> R) -> R {
    CURRENT.with_borrow_mut(what)
}

fn pause() {
    let number = NUMBER.with(Cell::get);
    with(|e| e.waited.push(number));
    shuttle::thread::yield_now();
}

/// Whether this thread is still asleep.
fn asleep() -> bool {
    let me = shuttle::thread::current().id();
    with(|e| e.sleepers.iter().any(|sleeper| sleeper.thread.id() == me))
}

/// Does the work of [`Engine::run`]; not generic, so it is compiled once.
fn run_all(threads: usize, body: &Arc<dyn Fn(usize) + Send + Sync>) {
    let others: Vec<_> = (1..threads)
        .map(|thread| {
            let body = Arc::clone(body);
            shuttle::thread::spawn(move || {
                NUMBER.with(|number| number.set(thread));
                body(thread);
            })
        })
        .collect();
    body(0);
    for thread in others {
        thread.join().expect("a thread ends");
    }
}

impl Engine for Shuttle {
    fn run(threads: usize, body: impl Fn(usize) + Send + Sync + 'static) {
        run_all(threads, &(Arc::new(body) as Arc<_>));
    }

    fn number() -> usize {
        NUMBER.with(Cell::get)
    }

    fn wait_for_waiter(thread: usize) {
        while !with(|e| e.waited.contains(&thread)) {
            shuttle::thread::yield_now();
        }
    }

    /// Does nothing: the scheduler arranges the threads.
    fn arrange() {}

    fn explore() {}

    fn soon() -> Duration {
        Self::now() + Duration::from_nanos(shuttle::rand::thread_rng().gen_range(SOON))
    }

    fn read<T: Copy>(data: &ShuttleData<T>) -> T {
        data.read()
    }
}

// SAFETY: the words and links are shuttle's atomics; a reference is a pointer to its node.
unsafe impl Memory for Shuttle {
    type Word = ShuttleWord;
    type Link<T> = ShuttleLink<T>;
    type Ref<T> = ShuttleRef<T>;
    type Data<T> = ShuttleData<T>;
    type Own<T: Default> = OnStack<T>;

    const PATIENCE: u32 = 2;
    const BATCH: u32 = 2;

    fn refer<T>(node: &T) -> ShuttleRef<T> {
        ShuttleRef(NonNull::from_ref(node))
    }

    unsafe fn follow<'a, T: 'a>(node: ShuttleRef<T>) -> &'a T {
        let alive = with(|e| e.nodes.may_be_followed(node.0.cast()));
        assert!(alive, "a reference to a freed node was followed");
        // SAFETY: the caller promises that the node is alive; if it is from `allocate`, that was
        // just checked.
        unsafe { node.0.as_ref() }
    }

    fn allocate<T: Default>() -> ShuttleRef<T> {
        let value = T::default();
        let place = with(|e| e.nodes.place::<T>());
        // SAFETY: the memory is new, and large enough.
        unsafe { place.write(value) };
        ShuttleRef(place)
    }

    unsafe fn free<T>(node: ShuttleRef<T>) {
        // A failed execution is torn down in any order.
        if panicking() {
            return;
        }
        with(|e| e.nodes.kill(node.0.cast()));
        // SAFETY: the node was written in `allocate`, and was not freed yet; its memory stays
        // allocated.
        unsafe { node.0.drop_in_place() };
    }

    fn pause(_: u32) {
        pause();
    }

    /// Does nothing: every access may already take any time.
    fn delay(_: u32) {}

    fn yield_now() {
        pause();
    }

    fn park(word: &ShuttleWord, expected: u32, key: u32, deadline: Option<Duration>) {
        use std::sync::atomic::Ordering::SeqCst;
        let thread = shuttle::thread::current();
        // No other thread runs between this load and falling asleep.
        if word.load(SeqCst) != expected {
            return;
        }
        let number = NUMBER.with(Cell::get);
        with(|e| {
            e.waited.push(number);
            e.sleepers.push(Sleeper { word: word.address().0, key, thread: thread.clone() });
        });
        while asleep() {
            match deadline {
                None => shuttle::thread::park(),
                Some(deadline) if Self::now() < deadline => shuttle::thread::yield_now(),
                Some(_) => {
                    with(|e| e.sleepers.retain(|sleeper| sleeper.thread.id() != thread.id()));
                }
            }
        }
    }

    fn unpark(address: Address, key: Option<u32>, count: u32) {
        let wakes = |sleeper: &mut Sleeper| {
            sleeper.word == address.0 && key.is_none_or(|key| key == sleeper.key)
        };
        let woken: Vec<_> =
            with(|e| e.sleepers.extract_if(.., wakes).take(count as usize).collect());
        woken.iter().for_each(|sleeper| sleeper.thread.unpark());
    }

    fn now() -> Duration {
        with(|e| {
            e.time += 1 + e.tick;
            Duration::from_nanos(e.time)
        })
    }

    fn group(level: usize) -> usize {
        let number = NUMBER.with(Cell::get);
        if level == 0 { number % 2 } else { number % 4 }
    }

    fn prefetch_for_write(_: &ShuttleWord) {}
}

/// Ordinary data; overlapping accesses are reported, unless all of them read.
#[derive(Debug)]
pub struct ShuttleData<T> {
    /// The number of readers, or [`WRITER`].
    users: AtomicU32,
    value: UnsafeCell<T>,
}

const WRITER: u32 = u32::MAX;

// SAFETY: `users` checks that accesses take turns.
unsafe impl<T: Send> Sync for ShuttleData<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for ShuttleData<T> {}

impl<T> Data<T> for ShuttleData<T> {
    fn new(value: T) -> Self {
        Self { users: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    unsafe fn with<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        use std::sync::atomic::Ordering::SeqCst;
        assert!(self.users.swap(WRITER, SeqCst) == 0, "two access the data, one to change it");
        let result = access(self.value.get());
        assert!(self.users.swap(0, SeqCst) == WRITER, "two access the data, one to change it");
        result
    }

    unsafe fn look<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
        use std::sync::atomic::Ordering::SeqCst;
        assert!(self.users.fetch_add(1, SeqCst) != WRITER, "data is read that is being changed");
        let result = access(self.value.get());
        self.users.fetch_sub(1, SeqCst);
        result
    }

    fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: Copy> ShuttleData<T> {
    fn read(&self) -> T {
        use std::sync::atomic::Ordering::SeqCst;
        assert!(self.users.fetch_add(1, SeqCst) != WRITER, "data is read that is being changed");
        // SAFETY: the data lives, and no thread changes it, as was just checked.
        let value = unsafe { *self.value.get() };
        self.users.fetch_sub(1, SeqCst);
        value
    }
}
