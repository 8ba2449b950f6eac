//! Locks that are freed as soon as their last user has released them.
//!
//! A thread that acquires a lock after all others have had it may free it after its own release,
//! even while the others' releases have not returned yet. POSIX allows that, and it is common if
//! the lock is in an object with a reference count. So a release must not access the lock after the
//! step that lets the next thread in. The checkers report accesses to freed words.

use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use syncline::lock::{RawLock, RawSharedLock};
use syncline::memory::{Memory, Own, Pooled, Word};

use crate::engine::Engine;

/// A lock that may be freed before its scene.
struct Mortal<L: RawLock> {
    lock: UnsafeCell<ManuallyDrop<Own<L, L::Memory>>>,
    gone: AtomicBool,
    /// How many threads have the lock or have had it.
    came: Own<<L::Memory as Memory>::Word, L::Memory>,
}

// SAFETY: the lock is shared until one thread, its only remaining user, drops it.
unsafe impl<L: RawLock> Sync for Mortal<L> {}
// SAFETY: as above.
unsafe impl<L: RawLock> Send for Mortal<L> {}

impl<L: RawLock<Memory: Engine> + 'static> Mortal<L> {
    fn run(threads: usize, act: impl Fn(&Self, usize) + Send + Sync + 'static) {
        let mortal = Arc::new(Self {
            lock: UnsafeCell::new(ManuallyDrop::default()),
            gone: AtomicBool::new(false),
            came: Default::default(),
        });
        L::Memory::run(threads, move |thread| act(&mortal, thread));
    }

    fn lock(&self) -> &L {
        // SAFETY: the lock is freed only by its last user, so every thread that is yet to come
        // finds it alive.
        unsafe { &*self.lock.get() }
    }

    /// Counts this thread, which holds the lock, and returns whether it is the last to come.
    fn is_last(&self, threads: usize) -> bool {
        self.came.fetch_add(1, AcqRel) as usize + 1 == threads
    }

    fn free(&self) {
        self.gone.store(true, Relaxed);
        // SAFETY: all others have had the lock, and it is dropped only once.
        unsafe { ManuallyDrop::drop(&mut *self.lock.get()) };
    }

    fn exclusively(&self, threads: usize, frees: bool) {
        let node = Pooled::<L::Node, L::Memory>::new();
        // SAFETY: the node stays until the release.
        unsafe {
            self.lock().acquire(&node);
            let last = self.is_last(threads);
            self.lock().release(&node);
            if last && frees {
                self.free();
            }
        }
    }
}

impl<L: RawLock> Drop for Mortal<L> {
    fn drop(&mut self) {
        if !*self.gone.get_mut() {
            // SAFETY: no thread has dropped it.
            unsafe { ManuallyDrop::drop(self.lock.get_mut()) };
        }
    }
}

/// Each thread comes once, and the last frees the lock.
pub fn last_frees<L>(threads: usize)
where
    L: RawLock<Memory: Engine> + 'static,
{
    Mortal::<L>::run(threads, move |mortal, _| mortal.exclusively(threads, true));
}

impl<L: RawSharedLock<Memory: Engine> + 'static> Mortal<L> {
    fn shared(&self, threads: usize, frees: bool) {
        let node = Pooled::<L::SharedNode, L::Memory>::new();
        // SAFETY: the node stays until the release.
        unsafe {
            self.lock().acquire_shared(&node);
            let last = self.is_last(threads);
            self.lock().release_shared(&node);
            if last && frees {
                self.free();
            }
        }
    }
}

/// The first thread writes, and the others read. The first frees the lock if all others have had
/// it before.
pub fn last_writer_frees<L>(threads: usize)
where
    L: RawSharedLock<Memory: Engine> + 'static,
{
    Mortal::<L>::run(threads, move |mortal, thread| match thread {
        0 => mortal.exclusively(threads, true),
        _ => mortal.shared(threads, false),
    });
}

/// The first thread reads, and the others write. The first frees the lock if all others have had
/// it before.
pub fn last_reader_frees<L>(threads: usize)
where
    L: RawSharedLock<Memory: Engine> + 'static,
{
    Mortal::<L>::run(threads, move |mortal, thread| match thread {
        0 => mortal.shared(threads, true),
        _ => mortal.exclusively(threads, false),
    });
}

/// The first two threads write and the others read. If the last of all is a writer, it frees the
/// lock.
pub fn last_of_all_frees<L>(threads: usize)
where
    L: RawSharedLock<Memory: Engine> + 'static,
{
    Mortal::<L>::run(threads, move |mortal, thread| match thread {
        0 | 1 => mortal.exclusively(threads, true),
        _ => mortal.shared(threads, false),
    });
}
