//! The locks' cases: requirements of a lock, as small functions over any lock in any checker's
//! memory.
//!
//! Most cases use a plain counter that the lock protects. The checkers report unordered accesses to
//! the counter, and at the end it must have counted every increment.

pub mod barrier;
mod changing;
pub mod condvar;
mod mortal;
pub mod once;
mod scene;
mod shared;

use std::sync::Arc;

use syncline::lock::{RawLock, TimedLock, TryLock};
use syncline::memory::{Data, Pooled};

pub use self::changing::*;
pub use self::mortal::*;
use self::scene::Scene;
pub use self::shared::*;
use crate::engine::Engine;

/// Each thread increments the counter in several sections, and no increment is lost.
pub fn exclusion<L>(threads: usize, rounds: u32)
where
    L: RawLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(threads, move |scene, _| (0..rounds).for_each(|_| scene.exclusively()));
    assert_eq!(scene.count(), threads as u32 * rounds);
}

/// Like [`exclusion`], but each thread uses one node for all rounds.
pub fn again<L>(threads: usize, rounds: u32)
where
    L: RawLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(threads, move |scene, _| {
        let node = Pooled::new();
        (0..rounds).for_each(|_| scene.exclusively_with(&node));
    });
    assert_eq!(scene.count(), threads as u32 * rounds);
}

/// The first thread acquires the lock repeatedly, and the other once. If waiters can be overtaken,
/// the other may be woken and find the lock taken, until the lock no longer lets it be overtaken.
pub fn overtaken<L>(rounds: u32)
where
    L: RawLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(2, move |scene, thread| {
        (0..if thread == 0 { rounds } else { 1 }).for_each(|_| scene.exclusively());
    });
    assert_eq!(scene.count(), rounds + 1);
}

/// One thread waits for the lock, the others only try. A lock that no thread uses can be acquired
/// by a try.
pub fn tries<L>(threads: usize, rounds: u32)
where
    L: TryLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(threads, move |scene, thread| {
        for _ in 0..rounds {
            if thread == 0 {
                scene.exclusively();
            } else {
                scene.try_once();
            }
        }
    });
    assert!(scene.try_once(), "a free lock was refused");
    assert!(scene.count() > rounds);
}

/// The second thread waits with a deadline that may pass, the others without one. The second may
/// leave the queue at its end or in its middle, or just as the lock is handed to it.
pub fn timed<L>(threads: usize, rounds: u32)
where
    L: TimedLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(threads, move |scene, thread| {
        for _ in 0..rounds {
            if thread == 1 {
                scene.until_soon();
            } else {
                scene.exclusively();
            }
        }
    });
    assert!(scene.try_once(), "a free lock was refused");
    assert!(scene.count() > (threads as u32 - 1) * rounds);
}

/// The first thread holds the lock, and the others queue up one by one. The second of these has a
/// deadline, so it may leave from the middle of a queue.
pub fn leaver<L>(threads: usize)
where
    L: TimedLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).queue(threads, |scene, thread| {
        if thread == 2 {
            scene.until_soon();
        } else {
            scene.exclusively();
        }
    });
    assert!(scene.try_once(), "a free lock was refused");
    assert!(scene.count() >= threads as u32 - 1);
}

/// All threads but the first have deadlines: a thread may leave the queue while the one before it
/// leaves too.
pub fn leavers<L>(threads: usize)
where
    L: TimedLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(threads, |scene, thread| match thread {
        0 => scene.exclusively(),
        _ => drop(scene.until_soon()),
    });
    assert!(scene.try_once(), "a free lock was refused");
    assert!(scene.count() > 1);
}

/// The first thread has a deadline. It may leave when it is the first of its group in the queue,
/// with the third thread behind it.
pub fn first_leaves<L>(threads: usize)
where
    L: TimedLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(threads, |scene, thread| match thread {
        0 => drop(scene.until_soon()),
        _ => scene.exclusively(),
    });
    assert!(scene.try_once(), "a free lock was refused");
    assert!(scene.count() >= threads as u32);
}

/// The first thread acquires the lock twice, the second waits until a deadline, the third acquires
/// once. If waiters can be overtaken, the second is woken, finds the lock taken and leaves, and the
/// third still waits.
pub fn woken_in_vain<L>()
where
    L: TimedLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(3, |scene, thread| match thread {
        0 => (0..2).for_each(|_| scene.exclusively()),
        1 => drop(scene.until_soon()),
        _ => scene.exclusively(),
    });
    assert!(scene.try_once(), "a free lock was refused");
    assert!(scene.count() > 3);
}

/// The second thread gives up repeatedly, because the first holds the lock. What its waits leave in
/// the lock must not keep a thread from acquiring the free lock.
pub fn impatient<L>(rounds: u32)
where
    L: TimedLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(2, move |scene, thread| match thread {
        0 => (0..2).for_each(|_| scene.exclusively()),
        _ => (0..rounds).for_each(|_| {
            scene.until_soon();
        }),
    });
    assert!(scene.until_soon(), "a free lock was refused");
    assert!(scene.count() > 2);
}

/// Threads that queue up one by one while the lock is held get it in this order.
pub fn fifo<L>(threads: usize)
where
    L: RawLock<Memory: Engine> + 'static,
{
    in_order::<L>(threads, 1);
}

/// Like [`fifo`], for a lock that is first-come, first-served only among threads that are near each
/// other: those with odd numbers, and those with even numbers.
pub fn near<L>(threads: usize)
where
    L: RawLock<Memory: Engine> + 'static,
{
    in_order::<L>(threads, 2);
}

/// Checks the order within each of `groups` groups. Each group counts in its own byte of the
/// counter.
fn in_order<L>(threads: usize, groups: usize)
where
    L: RawLock<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).queue(threads, move |scene, thread| {
        let node = Pooled::<L::Node, L::Memory>::new();
        // SAFETY: the node stays until the release, and the lock is held between.
        unsafe {
            scene.lock.acquire(&node);
            let byte = (thread % groups) as u32 * 8;
            let before = (scene.count() >> byte) as usize & 0xff;
            assert_eq!(before, (thread - 1) / groups, "thread {thread} was not served in order");
            scene.count.with(|count| *count += 1 << byte);
            scene.lock.release(&node);
        }
    });
    let all = scene.count().to_le_bytes().map(usize::from).iter().sum::<usize>();
    assert_eq!(all, threads - 1);
}
