//! Threads of this rank, and barriers of all threads of all ranks.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread as system;

use syncline::Barrier;

use super::{Program, reached};
use crate::carina::Fence;
use crate::node::Quiet;

thread_local! {
    static THREAD: Cell<usize> = const { Cell::new(0) };
    static ENTERED: Cell<bool> = const { Cell::new(false) };
}

/// The number of this thread among those that [`Program::run`] has started on all ranks, from 0.
pub fn thread() -> usize {
    THREAD.get()
}

impl Program {
    /// How many threads there are on all ranks.
    pub fn threads(&self) -> usize {
        // Relaxed: it changes while this rank has one thread only.
        self.threads.load(Relaxed) * self.ranks()
    }

    /// Runs a function in this many threads of this rank, of which this thread is the first, and
    /// returns when all have returned. All ranks call this with the same number. The threads have
    /// the numbers `threads * rank` and on.
    ///
    /// # Panics
    ///
    /// If a thread panics, with its panic; if `threads` is 0; if the system gives no thread.
    pub fn run(&self, threads: usize, body: impl Fn() + Sync) {
        assert!(threads > 0, "a rank runs at least one thread");
        self.set_threads(threads);
        let first = threads * self.rank();
        system::scope(|scope| {
            let body = &body;
            for number in 1..threads {
                scope.spawn(move || {
                    THREAD.set(first + number);
                    body();
                });
            }
            THREAD.set(first);
            body();
        });
        self.set_threads(1);
        THREAD.set(self.rank());
    }

    fn set_threads(&self, threads: usize) {
        // Relaxed: threads are made after, and joined before.
        self.threads.store(threads, Relaxed);
        *self.barrier.lock() = Arc::new(Barrier::new(threads));
        self.inside(|node| node.set_threads(threads));
    }

    /// Waits until all threads of all ranks have come; what any wrote before is visible to all
    /// afterwards.
    pub fn barrier(&self) {
        self.meet(Fence::Barrier);
    }

    /// A barrier after which the classification of pages begins anew: after a program's
    /// initialisation, what one thread has written for all counts as written by none.
    pub fn reset(&self) {
        self.meet(Fence::Reset);
    }

    fn meet(&self, which: Fence) {
        let barrier = Arc::clone(&self.barrier.lock());
        if barrier.wait().is_leader() {
            let ranks_meet = || {
                let meet =
                    |meeting: &mut crate::vela::Meeting| meeting.meet(&self.host, &self.layout);
                reached(self.meeting.with(meet));
            };
            self.before(which);
            ranks_meet();
            self.after(which, Quiet::Yes, ranks_meet);
        }
        barrier.wait();
    }

    /// Stores this thread's rank where the library's locks look it up.
    pub(super) fn enter(&self) {
        if !ENTERED.replace(true) {
            self.host.enter(self.layout.nodes);
        }
    }
}
