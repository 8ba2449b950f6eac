//! A thread's transactions: attempt after attempt, until one succeeds.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::mem::forget;

use super::engine::Engine;
use super::nested::Inside;
use super::stop::{Result, Stop};
use super::tx::{Parts, Tx};
use super::writes::Writes;

/// The state with which a thread runs transactions on an engine: its logs, which are reused, and
/// its part of the engine.
///
/// For the default engine, [`atomically`](super::atomically) keeps a session for each thread.
pub struct Session<'e, E: Engine> {
    engine: &'e E,
    parts: Parts<E>,
}

// SAFETY: a session can only be moved between transactions, when `writes` and `kept` are empty.
unsafe impl<E: Engine<Thread: Send>> Send for Session<'_, E> {}

impl<'e, E: Engine> Session<'e, E> {
    /// A session for transactions on this engine.
    ///
    /// # Panics
    ///
    /// If the engine is a [`Served`](super::Served) that is closed, or that has as many sessions
    /// already as it was made for.
    pub fn new(engine: &'e E) -> Self {
        let thread = engine.enter();
        Self { engine, parts: Parts { thread, writes: Writes::default(), kept: Vec::new() } }
    }

    /// Runs a transaction; see [`atomically`](super::atomically).
    ///
    /// # Panics
    ///
    /// Same panics as [`atomically`](super::atomically). On a [`Served`](super::Served) engine it
    /// also panics if one of the servers that it asks is gone.
    #[inline]
    #[track_caller]
    pub fn atomically<'env, R>(
        &mut self,
        body: impl for<'tx> FnMut(&mut Tx<'tx, 'env, E>) -> Result<R>,
    ) -> R {
        let mut running = Running(self);
        let inside = Inside::<E::Memory>::enter();
        let result = running.run(body);
        forget(running);
        // Replaced values are dropped outside of the transaction.
        drop(inside);
        self.parts.clear();
        result
    }
}

/// A running transaction. It is dropped only if the closure or the engine panics; the drop ends the
/// transaction.
struct Running<'a, 'e, E: Engine>(&'a mut Session<'e, E>);

impl<E: Engine> Running<'_, '_, E> {
    #[inline]
    fn run<'env, R>(
        &mut self,
        mut body: impl for<'tx> FnMut(&mut Tx<'tx, 'env, E>) -> Result<R>,
    ) -> R {
        loop {
            let Session { engine, parts } = &mut *self.0;
            engine.begin(&mut parts.thread);
            let stop = match body(&mut Tx { engine, parts, lifetimes: PhantomData }) {
                Ok(result) => match engine.commit(&mut parts.thread, &mut parts.writes) {
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
        let Session { engine, parts } = &mut *self.0;
        parts.take_back();
        if stop == Stop::RETRY {
            engine.wait_for_change(&mut parts.thread);
        } else {
            engine.give_way(&mut parts.thread);
        }
        parts.clear();
    }
}

impl<E: Engine> Drop for Running<'_, '_, E> {
    #[cold]
    fn drop(&mut self) {
        let Session { engine, parts } = &mut *self.0;
        parts.take_back();
        engine.leave(&mut parts.thread);
        parts.clear();
    }
}

impl<E: Engine> Drop for Session<'_, E> {
    fn drop(&mut self) {
        self.engine.exit(&mut self.parts.thread);
    }
}

impl<E: Engine> fmt::Debug for Session<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}
