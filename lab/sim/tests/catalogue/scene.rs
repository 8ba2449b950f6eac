//! A lock and its critical section on a simulated machine, with a watchdog that checks for
//! progress.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use syncline::lock::{RawLock, RawSharedLock, TimedLock, TryLock};
use syncline::memory::{Memory, Padded};
use syncline_sim::engine::{self, ANYWHERE, Body, Engine};
use syncline_sim::{Machine, Simulated};

/// The cycles after which a run counts as hung: a few hundred times as many as the longest run
/// needs.
const HUNG: u64 = 20_000_000_000;
/// Cycles between two checks of the watchdog.
const WATCH: u64 = 10_000_000;

/// A lock, the threads that are inside its section, and a record of past sections.
#[derive(Default)]
pub struct Scene<L: RawLock> {
    pub lock: Padded<L>,
    /// Whether a writer is inside.
    alone: Cell<bool>,
    /// The number of readers inside.
    pub readers: Cell<u32>,
    /// The number of sections that writers have run.
    pub sections: Cell<u32>,
    /// The threads that have entered, in order.
    pub order: RefCell<Vec<usize>>,
}

impl<L: RawLock<Memory = Simulated>> Scene<L> {
    /// Runs `act` with each thread's number, from 0, on the processors in `places`.
    ///
    /// # Panics
    /// If a thread panics, if all remaining threads sleep, or if they make no progress.
    pub fn play(machine: &Machine, places: &[usize], act: impl Fn(&Self, usize)) -> Self {
        let scene = Self::default();
        let ended = Cell::new(0);
        let (act, there, end) = (&act, &scene, &ended);
        let mut threads: Vec<(usize, Body<'_>)> = Vec::new();
        for (number, &place) in places.iter().enumerate() {
            let body = move || {
                act(there, number);
                end.set(end.get() + 1);
            };
            threads.push((place, Box::new(body)));
        }
        let watch = || {
            while ended.get() < places.len() {
                engine::delay(WATCH);
                assert!(engine::now() < HUNG, "{} threads do not end", places.len() - ended.get());
            }
        };
        threads.push((ANYWHERE, Box::new(watch)));
        Engine::new(machine, 1).run(threads);
        scene
    }

    /// A writer's section of `cycles` cycles, which checks that no other thread is inside
    /// meanwhile.
    pub fn section(&self, cycles: u64) {
        assert!(!self.alone.replace(true), "two threads hold the lock");
        assert_eq!(self.readers.get(), 0, "a writer among readers");
        engine::delay(cycles);
        assert_eq!(self.readers.get(), 0, "a reader came in to a writer");
        self.sections.set(self.sections.get() + 1);
        self.alone.set(false);
    }

    /// Acquires the lock and holds it for this many cycles.
    pub fn exclusively(&self, cycles: u64) {
        let node = Padded::<L::Node>::default();
        // SAFETY: the node stays until the release.
        unsafe {
            self.lock.acquire(&node);
            self.section(cycles);
            self.lock.release(&node);
        }
    }

    /// Acquires the lock, records the thread's number, and runs a section.
    pub fn in_order(&self, number: usize) {
        let node = Padded::<L::Node>::default();
        // SAFETY: the node stays until the release.
        unsafe {
            self.lock.acquire(&node);
            self.order.borrow_mut().push(number);
            self.section(500);
            self.lock.release(&node);
        }
    }
}

impl<L: TryLock<Memory = Simulated>> Scene<L> {
    /// Tries once to acquire the lock, and returns whether the try succeeded. If it did, holds the
    /// lock for this many cycles.
    pub fn if_free(&self, cycles: u64) -> bool {
        let node = Padded::<L::Node>::default();
        // SAFETY: the node stays until the release.
        unsafe {
            let taken = self.lock.try_acquire(&node);
            if taken {
                self.section(cycles);
                self.lock.release(&node);
            }
            taken
        }
    }
}

impl<L: TimedLock<Memory = Simulated>> Scene<L> {
    /// Tries to acquire the lock for the time `patience`, and returns whether the try succeeded. If
    /// it did, runs a section.
    pub fn within(&self, patience: Duration) -> bool {
        let node = Padded::<L::Node>::default();
        // SAFETY: the node stays until the release.
        unsafe {
            let taken = self.lock.acquire_until(&node, Simulated::now() + patience);
            if taken {
                self.section(500);
                self.lock.release(&node);
            }
            taken
        }
    }
}

impl<L: RawSharedLock<Memory = Simulated>> Scene<L> {
    /// Calls `what` while holding the lock as a reader.
    pub fn shared(&self, what: impl FnOnce()) {
        let node = Padded::<L::SharedNode>::default();
        // SAFETY: the node stays until the release.
        unsafe {
            self.lock.acquire_shared(&node);
            self.look(what);
            self.lock.release_shared(&node);
        }
    }

    /// A reader's section, which checks that no writer is inside.
    pub fn look(&self, what: impl FnOnce()) {
        assert!(!self.alone.get(), "a reader came in to a writer");
        self.readers.set(self.readers.get() + 1);
        what();
        assert!(!self.alone.get(), "a writer came in to a reader");
        self.readers.set(self.readers.get() - 1);
    }
}
