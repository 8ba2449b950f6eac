//! A rank dies at any point in a function of a lock with a queue, or while it holds the lock. All
//! others must still get their turns, one at a time, and the queues must be reset.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, SeqCst};
use std::time::Duration;

use syncline::lock::{FairRw, RawSharedLock, ReadersFirst, WritersFirst};
use syncline::memory::{Memory, Word};
use syncline::wait::{Spin, Wait, Yield};
use syncline::window::{BestEffort, Global, Ordered, Queues, Table};
use syncline_checkers::{Engine, Shuttle, dying, is_dead, survived};

use crate::each;

const RANKS: usize = 4;
type Words = <Shuttle as Memory>::Word;

type Leave<'a> = &'a dyn Fn() -> bool;

shuttle::thread_local! {
    static LEAVE: Cell<*const Leave<'static>> = Cell::new(null());
}

/// The payload of the unwinding that leaves a wait.
struct Left;

/// A wait policy whose waits can be abandoned.
#[derive(Clone, Copy, Debug, Default)]
struct Leaving;

impl Wait for Leaving {
    const NAME: &'static str = "leaving";
    const SLEEPS: bool = false;
    const YIELDS: bool = true;

    fn wait_fetching<M: Memory>(
        word: &M::Word,
        _: u32,
        _: Option<Duration>,
        fetch: impl Fn(&M::Word),
        done: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let mut looks = 0;
        loop {
            fetch(word);
            if done(word.load(Acquire)) {
                return Some(0);
            }
            looks += 1;
            Self::pause_at::<M, _>(word, looks);
        }
    }

    fn hand_over<M: Memory>(word: &M::Word, value: u32) {
        Yield::hand_over::<M>(word, value);
    }

    fn announce<M: Memory>(word: &M::Word, value: u32) {
        Yield::announce::<M>(word, value);
    }

    fn advance<M: Memory>(word: &M::Word, value: u32, last: bool) {
        Yield::advance::<M>(word, value, last);
    }

    fn pause_at<M: Memory, T>(word: &T, looks: u32) {
        Yield::pause_at::<M, T>(word, looks);
        // SAFETY: `unless` has set the pointer, and returns only after this call, so what it points
        // to is alive.
        if unsafe { LEAVE.with(Cell::get).as_ref() }.is_some_and(|leave| leave()) {
            resume_unwind(Box::new(Left));
        }
    }
}

/// The words of a window's locks. Each part has counters, and a queue in front of them.
struct Window<L: RawSharedLock<Memory = Shuttle>> {
    global: Global<Spin, Shuttle>,
    parts: [BestEffort<false, Spin, Shuttle>; RANKS],
    entries: [[Words; RANKS + 1]; RANKS],
    orphaned: [Words; RANKS],
    repairer: Words,
    queues: UnsafeCell<[L; RANKS]>,
    broken: Words,
    lined: [Words; RANKS],
    nodes: [UnsafeCell<(L::Node, L::SharedNode)>; RANKS],
    owner: Words,
}

impl<L: RawSharedLock<Memory = Shuttle>> Default for Window<L> {
    fn default() -> Self {
        Window {
            global: Default::default(),
            parts: Default::default(),
            entries: Default::default(),
            orphaned: Default::default(),
            repairer: Default::default(),
            queues: Default::default(),
            broken: Default::default(),
            lined: Default::default(),
            nodes: Default::default(),
            owner: Default::default(),
        }
    }
}

// SAFETY: the locks' rules say which thread uses the cells.
unsafe impl<L: RawSharedLock<Memory = Shuttle>> Sync for Window<L> {}
// SAFETY: as above.
unsafe impl<L: RawSharedLock<Memory = Shuttle>> Send for Window<L> {}

impl<L: RawSharedLock<Memory = Shuttle>> Table<false, Spin, Shuttle> for Window<L> {
    fn ranks(&self) -> usize {
        RANKS
    }
    fn global(&self) -> &Global<Spin, Shuttle> {
        &self.global
    }
    fn part(&self, target: usize) -> &BestEffort<false, Spin, Shuttle> {
        &self.parts[target]
    }
    fn entry(&self, rank: usize, target: usize) -> &Words {
        &self.entries[rank][target]
    }
    fn orphaned(&self, target: usize) -> &Words {
        &self.orphaned[target]
    }
    fn repairer(&self) -> &Words {
        &self.repairer
    }
    fn lives(&self, rank: usize) -> bool {
        !is_dead(rank)
    }
}

impl<L: RawSharedLock<Memory = Shuttle>> Queues<Spin, L> for Window<L> {
    type Counters = Self;

    fn counters(&self) -> &Self {
        self
    }
    fn queue(&self, target: usize) -> &L {
        // SAFETY: the queue is reset only while no living rank uses it.
        unsafe { &(&*self.queues.get())[target] }
    }
    fn broken(&self) -> &Words {
        &self.broken
    }
    fn lined(&self, rank: usize) -> &Words {
        &self.lined[rank]
    }
    unsafe fn renew(&self) {
        // SAFETY: our caller's promise.
        unsafe { *self.queues.get() = Default::default() };
    }
    fn unless(&self, leave: &dyn Fn() -> bool, f: impl FnOnce()) -> bool {
        LEAVE.with(|current| current.set((&raw const leave).cast()));
        let done = catch_unwind(AssertUnwindSafe(f));
        LEAVE.with(|current| current.set(null()));
        let is_left = |why: &Box<dyn Any + Send>| why.is::<Left>();
        done.map_or_else(|why| if is_left(&why) { false } else { resume_unwind(why) }, |()| true)
    }
}

impl<L: RawSharedLock<Memory = Shuttle>> Window<L> {
    fn of(&self, rank: usize) -> Ordered<'_, Spin, L, Self> {
        Ordered::new(self, rank)
    }

    /// Acquires part 0 exclusively and releases it.
    fn write(&self, rank: usize) {
        let (locks, node) = (self.of(rank), self.nodes[rank].get());
        // SAFETY: the node belongs to this rank, and is reset only when nothing else uses it.
        unsafe {
            let lined = locks.acquire(0, || {
                (*node).0 = Default::default();
                &(*node).0
            });
            let before = self.owner.swap(rank as u32 + 1, SeqCst) as usize;
            assert!(before == 0 || is_dead(before - 1), "two owners");
            assert!(before == 0 || locks.counters().is_orphaned(0), "not told of a dead owner");
            locks.counters().make_consistent(0);
            self.owner.store(0, SeqCst);
            locks.release(0, &(*node).0, lined);
        }
    }

    /// Shares part 0.
    fn read(&self, rank: usize) {
        let (locks, node) = (self.of(rank), self.nodes[rank].get());
        // SAFETY: as above.
        unsafe {
            let lined = locks.acquire_shared(0, || {
                (*node).1 = Default::default();
                &(*node).1
            });
            let owner = self.owner.load(SeqCst) as usize;
            assert!(owner == 0 || is_dead(owner - 1), "an owner beside a reader");
            locks.release_shared(0, &(*node).1, lined);
        }
    }
}

/// Each rank acquires part 0 twice, exclusively or shared, and one rank dies. Afterwards, the other
/// ranks go on acquiring the part until the queues are intact.
fn play<L: RawSharedLock<Memory = Shuttle>>()
where
    Window<L>: 'static,
{
    let window = Arc::new(Window::<L>::default());
    Shuttle::run(RANKS, move |rank| {
        for round in 0..2 {
            if (rank + round) % 3 == 0 { window.read(rank) } else { window.write(rank) }
        }
        while window.broken.load(SeqCst) != 0 {
            Shuttle::yield_now();
            window.write(rank);
        }
        survived();
    });
}

/// The number of schedules that shuttle draws in a case.
const RANDOM: usize = 3_000;

#[test]
fn writers_first() {
    dying(each(RANDOM), RANKS, play::<WritersFirst<Leaving, Shuttle>>);
}

#[test]
fn readers_first() {
    dying(each(RANDOM), RANKS, play::<ReadersFirst<Leaving, Shuttle>>);
}

#[test]
fn fair() {
    dying(each(RANDOM), RANKS, play::<FairRw<Leaving, Shuttle>>);
}
