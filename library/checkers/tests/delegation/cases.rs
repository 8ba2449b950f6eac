//! The cases: requirements of a delegation lock, as small functions over any lock in any checker's
//! memory.
//!
//! The checkers watch the plain counter that the lock protects, and plain data of each thread, its
//! slate, which the thread and its sections use in turn. They report unordered accesses. A section
//! increments the counter as its last step. So if a section fails, the counter is too low, even if
//! no thread waits for the section.

use std::sync::Arc;

use syncline::delegation::{Delegated, Pending, RawDelegation};
use syncline::memory::{Data, Memory};
use syncline_checkers::Engine;

/// Plain data that a thread and its sections use in turn.
pub struct Slate<M: Memory>(Arc<M::Data<u32>>);

// SAFETY: a number that threads use in turn, which the checkers verify.
unsafe impl<M: Memory> Sync for Slate<M> {}
// SAFETY: as above.
unsafe impl<M: Memory> Send for Slate<M> {}

impl<M: Memory> Slate<M> {
    pub fn new() -> Self {
        Self(Arc::new(Data::new(0)))
    }

    fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// Adds one to the number, which must equal `before`.
    pub fn add_one_to(&self, before: u32) {
        // SAFETY: it is this thread's turn, which the checkers verify.
        unsafe {
            self.0.with(|mark| {
                assert_eq!(*mark, before, "a section ran out of order, twice, or not at all");
                *mark += 1;
            });
        }
    }
}

struct Scene<D: RawDelegation> {
    count: Delegated<u32, D>,
}

impl<D: RawDelegation<Memory: Engine> + 'static> Scene<D> {
    /// Runs threads on a new lock, and checks at the end that `sections` sections have run.
    fn play(threads: usize, sections: u32, act: impl Fn(&Self, usize) + Send + Sync + 'static) {
        let scene = Arc::new(Self { count: Delegated::from(0) });
        let played = Arc::clone(&scene);
        D::Memory::run(threads, move |thread| act(&played, thread));
        assert_eq!(scene.count.with(|count| *count), sections);
    }

    /// Runs a section that works on the slate, and waits for the section.
    fn attached(&self, slate: &Slate<D::Memory>, before: u32) {
        slate.add_one_to(before);
        self.count.with(|count| {
            slate.add_one_to(before + 1);
            *count += 1;
        });
        slate.add_one_to(before + 2);
    }

    fn detached(&self, slate: &Slate<D::Memory>, before: u32) -> Pending<Slate<D::Memory>, D> {
        let slate = slate.share();
        self.count.delegate(move |count| {
            slate.add_one_to(before);
            *count += 1;
            slate
        })
    }
}

/// Each thread waits for each of its sections.
pub fn attached<D>(threads: usize, rounds: u32)
where
    D: RawDelegation<Memory: Engine> + 'static,
{
    Scene::<D>::play(threads, threads as u32 * rounds, move |scene, _| {
        let slate = Slate::new();
        (0..rounds).for_each(|round| scene.attached(&slate, 3 * round));
    });
}

/// Each thread delegates a section, continues, and waits for the section later.
pub fn detached<D>(threads: usize, rounds: u32)
where
    D: RawDelegation<Memory: Engine> + 'static,
{
    Scene::<D>::play(threads, threads as u32 * rounds, move |scene, _| {
        for _ in 0..rounds {
            let slate = Slate::new();
            slate.add_one_to(0);
            let pending = scene.detached(&slate, 1);
            let result = pending.wait();
            slate.add_one_to(2);
            result.add_one_to(3);
        }
    });
}

/// The first thread abandons its section before, while or after it runs; the side that uses the
/// request last drops the result. The other threads wait.
pub fn abandoned<D>(threads: usize, rounds: u32)
where
    D: RawDelegation<Memory: Engine> + 'static,
{
    Scene::<D>::play(threads, threads as u32 * rounds, move |scene, thread| {
        for _ in 0..rounds {
            let slate = Slate::new();
            if thread == 0 {
                drop(scene.detached(&slate, 0));
            } else {
                scene.attached(&slate, 0);
            }
        }
    });
}

/// No thread waits for any section.
pub fn all_abandoned<D>(threads: usize, rounds: u32)
where
    D: RawDelegation<Memory: Engine> + 'static,
{
    Scene::<D>::play(threads, threads as u32 * rounds, move |scene, _| {
        (0..rounds).for_each(|_| drop(scene.detached(&Slate::new(), 0)));
    });
}

/// The first thread asks whether its section has run. If so, the thread uses the data that the
/// section has used.
pub fn asked<D>(threads: usize)
where
    D: RawDelegation<Memory: Engine> + 'static,
{
    Scene::<D>::play(threads, threads as u32, move |scene, thread| {
        let slate = Slate::new();
        if thread == 0 {
            let pending = scene.detached(&slate, 0);
            if pending.is_done() {
                slate.add_one_to(1);
            }
            drop(pending);
        } else {
            scene.attached(&slate, 0);
        }
    });
}

/// The sections of one thread run in the order of its calls, whether the thread waits for them or
/// not.
pub fn ordered<D>(threads: usize)
where
    D: RawDelegation<Memory: Engine> + 'static,
{
    Scene::<D>::play(threads, threads as u32 + 2, move |scene, thread| {
        let slate = Slate::new();
        if thread == 0 {
            let first = scene.detached(&slate, 0);
            drop(scene.detached(&slate, 1));
            // This section runs after both, although no thread waits for the second.
            scene.count.with(|count| {
                slate.add_one_to(2);
                *count += 1;
            });
            first.wait().add_one_to(3);
        } else {
            scene.attached(&slate, 0);
        }
    });
}

/// While the first thread's section runs, the other threads queue up one by one. They must be
/// served in this order.
pub fn fifo<D>(threads: usize)
where
    D: RawDelegation<Memory: Engine> + 'static,
{
    D::Memory::arrange();
    Scene::<D>::play(threads, threads as u32, move |scene, thread| {
        if thread > 1 {
            D::Memory::wait_for_waiter(thread - 1);
        }
        scene.count.with(|count| {
            assert_eq!(*count as usize, thread, "thread {thread} was not served in order");
            *count += 1;
            if thread == 0 {
                D::Memory::wait_for_waiter(threads - 1);
                D::Memory::explore();
            }
        });
    });
}
