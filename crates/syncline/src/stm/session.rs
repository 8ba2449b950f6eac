//! A thread's transactions: attempt after attempt, until one succeeds.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use super::engine::Engine;
use super::nested::Inside;
use super::stop::{Result, Stop};
use super::tx::{Kept, Tx};
use super::writes::Writes;

/// What a thread needs to run transactions on an engine: its logs, which are used again, and its
/// place among the others.
///
/// For the default engine [`atomically`](super::atomically) keeps one for each thread.
pub struct Session<'e, E: Engine> {
    engine: &'e E,
    thread: E::Thread,
    writes: Writes<E::Memory>,
    kept: Vec<Kept>,
}

// SAFETY: between transactions, which is when it can be moved, the logs are empty.
unsafe impl<E: Engine<Thread: Send>> Send for Session<'_, E> {}

impl<'e, E: Engine> Session<'e, E> {
    /// For transactions on this engine.
    pub fn new(engine: &'e E) -> Self {
        let thread = engine.enter();
        Self { engine, thread, writes: Writes::default(), kept: Vec::new() }
    }

    /// Runs a transaction; see [`atomically`](super::atomically).
    ///
    /// # Panics
    ///
    /// As [`atomically`](super::atomically).
    #[inline]
    #[track_caller]
    pub fn atomically<'env, R>(
        &mut self,
        body: impl for<'tx> FnMut(&mut Tx<'tx, 'env, E>) -> Result<R>,
    ) -> R {
        let mut running = Running { session: self, done: false };
        let inside = Inside::<E::Memory>::enter();
        let result = running.run(body);
        running.done = true;
        // What was replaced is dropped outside of the transaction.
        drop(inside);
        drop(running);
        result
    }

    /// Drops what attempts have left, which is the user's code.
    #[inline]
    fn clear(&mut self) {
        let kept = Clearing(&mut self.kept);
        self.writes.clear();
        drop(kept);
    }
}

/// Clears a list, also when something else panics before.
struct Clearing<'a>(&'a mut Vec<Kept>);

impl Drop for Clearing<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.clear();
    }
}

/// A transaction that runs; dropped before it is done if its closure panics.
struct Running<'a, 'e, E: Engine> {
    session: &'a mut Session<'e, E>,
    done: bool,
}

impl<E: Engine> Running<'_, '_, E> {
    #[inline]
    fn run<'env, R>(
        &mut self,
        mut body: impl for<'tx> FnMut(&mut Tx<'tx, 'env, E>) -> Result<R>,
    ) -> R {
        loop {
            let Session { engine, thread, writes, kept } = &mut *self.session;
            engine.begin(thread);
            let stop = match body(&mut Tx { engine, thread, writes, kept, lifetimes: PhantomData })
            {
                Ok(result) => match engine.commit(thread, writes) {
                    Ok(()) => return result,
                    Err(stop) => stop,
                },
                Err(stop) => stop,
            };
            self.stopped(stop);
        }
    }

    #[cold]
    fn stopped(&mut self, stop: Stop) {
        let Session { engine, thread, .. } = &mut *self.session;
        if stop == Stop::RETRY {
            engine.wait_for_change(thread);
        } else {
            engine.give_way(thread);
        }
        self.session.clear();
    }
}

impl<E: Engine> Drop for Running<'_, '_, E> {
    #[inline]
    fn drop(&mut self) {
        if !self.done {
            self.session.engine.leave(&mut self.session.thread);
        }
        self.session.clear();
    }
}

impl<E: Engine> Drop for Session<'_, E> {
    fn drop(&mut self) {
        self.engine.exit(&mut self.thread);
    }
}

impl<E: Engine> fmt::Debug for Session<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}
