//! The cases of shared locks.

use std::sync::Arc;

use syncline::lock::{Described, Order, RawSharedLock, TimedSharedLock, TrySharedLock};
use syncline::memory::{Memory, Pooled};

use super::scene::Scene;
use crate::engine::Engine;

/// The first `writers` threads write, the others read.
pub fn sharing<L>(writers: usize, readers: usize, rounds: u32)
where
    L: RawSharedLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(writers + readers, move |scene, thread| {
        for _ in 0..rounds {
            if thread < writers {
                scene.exclusively();
            } else {
                scene.shared();
            }
        }
    });
    assert_eq!(scene.count(), writers as u32 * rounds);
}

impl<L: RawSharedLock<Memory: Engine> + 'static> Scene<L> {
    pub(super) fn shared(&self) {
        let node = Pooled::<L::SharedNode, L::Memory>::new();
        // SAFETY: the node stays until the release.
        unsafe {
            self.lock.acquire_shared(&node);
            self.count();
            self.lock.release_shared(&node);
        }
    }
}

/// Readers and writers alternate. The first thread, a reader, comes twice: it may find a reader
/// inside while a writer waits, or a writer inside.
pub fn returning<L>(threads: usize)
where
    L: RawSharedLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(threads, |scene, thread| {
        if thread % 2 == 1 {
            scene.exclusively();
        } else {
            scene.shared();
        }
        if thread == 0 {
            scene.shared();
        }
    });
    assert_eq!(scene.count() as usize, threads / 2);
}

/// One thread holds two shares at the same time, while no thread writes.
pub fn together<L>()
where
    L: RawSharedLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    scene.play(1, |scene, _| {
        let first = Pooled::<L::SharedNode, L::Memory>::new();
        let second = Pooled::<L::SharedNode, L::Memory>::new();
        // SAFETY: the nodes stay until the releases.
        unsafe {
            scene.lock.acquire_shared(&first);
            scene.lock.acquire_shared(&second);
            scene.lock.release_shared(&first);
            scene.lock.release_shared(&second);
        }
    });
}

/// While a reader reads, a writer comes, and then another reader. The one that is first in the
/// lock's order must go first.
pub fn preference<L>()
where
    L: RawSharedLock<Memory: Engine> + Described + 'static,
{
    let scene = Scene::<L>::new();
    L::Memory::arrange();
    scene.play(3, |scene, thread| match thread {
        0 => {
            let node = Pooled::<L::SharedNode, L::Memory>::new();
            // SAFETY: the node stays until the release.
            unsafe {
                scene.lock.acquire_shared(&node);
                // This counts as a wait, for which the writer waits.
                L::Memory::yield_now();
                L::Memory::wait_for_waiter(1);
                if L::ABOUT.order == Order::ReadersFirst {
                    // A reader need not wait for the writer, which waits for this thread.
                    scene.shared();
                } else {
                    L::Memory::wait_for_waiter(2);
                }
                L::Memory::explore();
                scene.lock.release_shared(&node);
            }
        }
        1 => {
            L::Memory::wait_for_waiter(0);
            scene.exclusively();
        }
        _ => {
            L::Memory::wait_for_waiter(1);
            let node = Pooled::<L::SharedNode, L::Memory>::new();
            // SAFETY: the node stays until the release.
            unsafe {
                scene.lock.acquire_shared(&node);
                let order = L::ABOUT.order;
                if matches!(order, Order::Fifo | Order::WritersFirst | Order::NewReadersLast) {
                    assert_eq!(scene.count(), 1, "the reader went before the writer");
                }
                scene.lock.release_shared(&node);
            }
        }
    });
}

/// While a writer writes, another comes, and then a reader. The one that is first in the lock's
/// order must go first.
pub fn after_a_writer<L>()
where
    L: RawSharedLock<Memory: Engine> + Described + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).queue(3, |scene, thread| {
        if thread == 1 {
            return scene.exclusively();
        }
        let node = Pooled::<L::SharedNode, L::Memory>::new();
        // SAFETY: the node stays until the release.
        unsafe {
            scene.lock.acquire_shared(&node);
            let written = scene.count();
            match L::ABOUT.order {
                Order::ReadersFirst => assert_eq!(written, 0, "the writer went before the reader"),
                Order::Fifo | Order::WritersFirst => {
                    assert_eq!(written, 1, "the reader went before the writer");
                }
                _ => {}
            }
            scene.lock.release_shared(&node);
        }
    });
}

/// One thread writes repeatedly, and the other reads once. If waiters can be overtaken, the reader
/// may be woken and find the lock taken, until the lock no longer lets it be overtaken.
pub fn overtaken_shared<L>(rounds: u32)
where
    L: RawSharedLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(2, move |scene, thread| match thread {
        0 => (0..rounds).for_each(|_| scene.exclusively()),
        _ => scene.shared(),
    });
    assert_eq!(scene.count(), rounds);
}

/// One thread writes, another tries to read, and a third to write.
pub fn tries_shared<L>(rounds: u32)
where
    L: TrySharedLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(3, move |scene, thread| {
        for _ in 0..rounds {
            match thread {
                0 => scene.exclusively(),
                1 => drop(scene.try_shared()),
                _ => drop(scene.try_once()),
            }
        }
    });
    assert!(scene.try_shared(), "a free lock was refused");
}

impl<L: TrySharedLock<Memory: Engine> + 'static> Scene<L> {
    fn try_shared(&self) -> bool {
        let node = Pooled::<L::SharedNode, L::Memory>::new();
        // SAFETY: the node stays until the release.
        unsafe {
            let taken = self.lock.try_acquire_shared(&node);
            if taken {
                self.count();
                self.lock.release_shared(&node);
            }
            taken
        }
    }
}

/// One thread reads, another writes, and a third tries to write.
pub fn tries_among_readers<L>()
where
    L: TrySharedLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(3, |scene, thread| match thread {
        0 => scene.shared(),
        1 => scene.exclusively(),
        _ => drop(scene.try_once()),
    });
    assert!(scene.try_shared(), "a free lock was refused");
}

/// Two threads read, another waits with a deadline to write, and a fourth, if any, writes without a
/// deadline. Readers that only the waiting writer has blocked must continue when it gives up.
pub fn giving_up<L>(threads: usize)
where
    L: TimedSharedLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(threads, |scene, thread| match thread {
        0 | 2 => scene.shared(),
        1 => drop(scene.until_soon()),
        _ => scene.exclusively(),
    });
    assert!(scene.try_shared(), "a free lock was refused");
}

/// One thread writes, another waits with a deadline to write, and a third waits with a deadline to
/// read.
pub fn timed_shared<L>(rounds: u32)
where
    L: TimedSharedLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(3, move |scene, thread| {
        for _ in 0..rounds {
            match thread {
                0 => scene.exclusively(),
                1 => drop(scene.until_soon()),
                _ => scene.shared_until_soon(),
            }
        }
    });
    assert!(scene.try_shared(), "a free lock was refused");
}

impl<L: TimedSharedLock<Memory: Engine> + 'static> Scene<L> {
    fn shared_until_soon(&self) {
        let node = Pooled::<L::SharedNode, L::Memory>::new();
        // SAFETY: the node stays until the release.
        unsafe {
            if self.lock.acquire_shared_until(&node, L::Memory::soon()) {
                self.count();
                self.lock.release_shared(&node);
            }
        }
    }
}
