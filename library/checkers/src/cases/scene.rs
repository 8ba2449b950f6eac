//! The scene of a lock's cases: the lock, and a counter that it protects.

use std::sync::Arc;

use syncline::lock::{RawLock, TimedLock, TryLock};
use syncline::memory::{Data, Memory, Own, Pooled};

use crate::engine::Engine;

type Plain<L> = <<L as RawLock>::Memory as Memory>::Data<u32>;

/// A lock, and a counter that it protects.
pub(super) struct Scene<L: RawLock> {
    pub lock: Own<L, L::Memory>,
    pub count: Plain<L>,
}

// SAFETY: a lock and a number, which may be shared between threads.
unsafe impl<L: RawLock> Sync for Scene<L> {}
// SAFETY: as above.
unsafe impl<L: RawLock> Send for Scene<L> {}

impl<L: RawLock<Memory: Engine> + 'static> Scene<L> {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { lock: Own::<L, L::Memory>::default(), count: Plain::<L>::new(0) })
    }

    /// Runs threads on the scene, then requires that the lock is free and usable.
    pub fn play(
        self: Arc<Self>,
        threads: usize,
        act: impl Fn(&Self, usize) + Send + Sync + 'static,
    ) {
        let scene = Arc::clone(&self);
        L::Memory::run(threads, move |thread| act(&scene, thread));
        self.exclusively();
        // SAFETY: all threads have ended.
        unsafe { self.count.with(|count| *count -= 1) };
    }

    pub fn count(&self) -> u32 {
        L::Memory::read(&self.count)
    }

    pub fn increment(&self) {
        // SAFETY: the lock is held, which the checkers verify.
        unsafe { self.count.with(|count| *count += 1) };
    }

    pub fn exclusively(&self) {
        self.exclusively_with(&Pooled::new());
    }

    pub fn exclusively_with(&self, node: &Pooled<L::Node, L::Memory>) {
        // SAFETY: the node stays until the release.
        unsafe {
            self.lock.acquire(node);
            self.increment();
            self.lock.release(node);
        }
    }
}

impl<L: TryLock<Memory: Engine> + 'static> Scene<L> {
    pub fn try_once(&self) -> bool {
        let node = Pooled::<L::Node, L::Memory>::new();
        // SAFETY: the node stays until the release.
        unsafe {
            let taken = self.lock.try_acquire(&node);
            if taken {
                self.increment();
                self.lock.release(&node);
            }
            taken
        }
    }
}

impl<L: TimedLock<Memory: Engine> + 'static> Scene<L> {
    pub fn until_soon(&self) -> bool {
        let node = Pooled::<L::Node, L::Memory>::new();
        // SAFETY: the node stays until the release.
        unsafe {
            let taken = self.lock.acquire_until(&node, L::Memory::soon());
            if taken {
                self.increment();
                self.lock.release(&node);
            }
            taken
        }
    }
}

impl<L: RawLock<Memory: Engine> + 'static> Scene<L> {
    /// The first thread takes the lock, waits until the others have queued up one by one, and
    /// releases it; only from then on do executions differ.
    pub fn queue(
        self: Arc<Self>,
        threads: usize,
        act: impl Fn(&Self, usize) + Copy + Send + Sync + 'static,
    ) {
        L::Memory::arrange();
        self.play(threads, move |scene, thread| {
            if thread > 0 {
                L::Memory::wait_for_waiter(thread - 1);
                return act(scene, thread);
            }
            let node = Pooled::<L::Node, L::Memory>::new();
            // SAFETY: the node stays until the release.
            unsafe {
                scene.lock.acquire(&node);
                // This counts as a wait, for which thread 1 waits.
                L::Memory::yield_now();
                if threads > 1 {
                    L::Memory::wait_for_waiter(threads - 1);
                }
                L::Memory::explore();
                scene.lock.release(&node);
            }
        });
    }
}
