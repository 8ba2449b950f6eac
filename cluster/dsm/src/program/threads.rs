//! Runs threads of this rank, and has barriers of all threads of all ranks.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread as system;

use syncline::{Barrier, Mutex};
use syncline_fabric::Fabric;

use super::rank::{Rank, reached};
use crate::carina::Fence;
use crate::node::Quiet;
use crate::vela::Meeting;

thread_local! {
    /// In a thread of [`Threads::run`]: its number.
    static THREAD: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The number of this thread, from 0, among the threads that [`Threads::run`] runs on all ranks.
///
/// Outside of `Threads::run` it is the rank's number, since each rank counts as one thread then
/// ([`Threads::count`]). A thread that the program has started by itself also gets the rank's
/// number. So all such threads of a rank have one number. During `Threads::run`, one of the threads
/// that it runs on the ranks has that number too. The number is 0 before shared memory is started.
pub fn thread() -> usize {
    THREAD.get().or_else(|| Rank::get().map(Rank::number)).unwrap_or(0)
}

/// Threads of this rank, and barriers of all threads of all ranks.
pub struct Threads {
    rank: &'static Rank,
    /// The number of this rank's threads.
    here: AtomicUsize,
    /// The barrier of this rank's threads.
    barrier: Mutex<Arc<Barrier>>,
    /// The barrier of the ranks.
    meeting: Mutex<Meeting>,
}

impl Threads {
    pub(super) fn new(rank: &'static Rank) -> Threads {
        Threads {
            rank,
            here: AtomicUsize::new(1),
            barrier: Mutex::new(Arc::new(Barrier::new(1))),
            meeting: Mutex::new(Meeting::default()),
        }
    }

    /// The number of threads on all ranks.
    pub fn count(&self) -> usize {
        // Relaxed: the value changes only while this rank has one thread.
        self.here.load(Relaxed) * self.rank.fabric.ranks()
    }

    /// Runs a function in this many threads of this rank, and returns when all of them have
    /// returned. The calling thread is the first of them. All ranks must call this with the same
    /// number of threads. The threads' numbers begin at `threads * rank`.
    ///
    /// # Panics
    ///
    /// If a thread panics, once the others have returned. If `threads` is 0. If the system can't
    /// start a thread.
    pub fn run(&self, threads: usize, body: impl Fn() + Sync) {
        assert!(threads > 0, "a rank runs at least one thread");
        self.set_threads(threads);
        let _one_thread_remains = Alone(self);
        let first = threads * self.rank.number();
        system::scope(|scope| {
            let body = &body;
            for number in 1..threads {
                scope.spawn(move || {
                    THREAD.set(Some(first + number));
                    body();
                });
            }
            THREAD.set(Some(first));
            body();
        });
    }

    fn set_threads(&self, threads: usize) {
        // Relaxed: the threads start after this store, and are joined before the next one.
        self.here.store(threads, Relaxed);
        *self.barrier.lock() = Arc::new(Barrier::new(threads));
        self.rank.inside(|node| node.set_threads(threads));
    }

    /// Waits until all threads of all ranks have called this. Then everything that they wrote
    /// before is visible to all of them.
    pub fn barrier(&self) {
        self.meet(Fence::Barrier);
    }

    /// A barrier after which the classification of lines begins anew. A program calls this after
    /// its initialisation, so that the writes by which one thread has initialised data for all are
    /// forgotten.
    pub fn reset(&self) {
        self.meet(Fence::Reset);
    }

    fn meet(&self, which: Fence) {
        let barrier = Arc::clone(&self.barrier.lock());
        if barrier.wait().is_leader() {
            let rank = self.rank;
            let ranks_meet = || {
                let meet = |meeting: &mut Meeting| meeting.meet(&rank.fabric, &rank.layout);
                reached(self.meeting.with(meet));
            };
            rank.before(which);
            ranks_meet();
            rank.after(which, Quiet::Yes, ranks_meet);
        }
        barrier.wait();
    }
}

/// When this is dropped, also by a panic, the rank has one thread again.
struct Alone<'a>(&'a Threads);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.set_threads(1);
        THREAD.set(None);
    }
}
