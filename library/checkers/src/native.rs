//! The native memory as an engine: a case runs once, on system threads.
//!
//! A failing case ends the process, since the other threads may wait for the one that failed.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::abort;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread;
use std::time::Duration;

use syncline::memory::{Data, Memory, Native};

use crate::engine::Engine;

/// A thread of a case.
#[derive(Clone, Default)]
struct Me {
    number: usize,
    /// For each thread, whether it has waited or has ended.
    waited: Arc<[AtomicBool]>,
}

std::thread_local! {
    static ME: RefCell<Me> = RefCell::default();
}

impl Engine for Native {
    fn run(threads: usize, body: impl Fn(usize) + Send + Sync + 'static) {
        let waited: Arc<[AtomicBool]> = (0..threads).map(|_| AtomicBool::new(false)).collect();
        let play = |number| {
            ME.set(Me { number, waited: Arc::clone(&waited) });
            if catch_unwind(AssertUnwindSafe(|| body(number))).is_err() {
                abort();
            }
            // A thread with a deadline may have left without a wait. `wait_for_waiter` must not
            // wait for it forever.
            Self::waits();
        };
        let play = &play;
        thread::scope(|scope| {
            for number in 1..threads {
                scope.spawn(move || play(number));
            }
            play(0);
        });
    }

    fn number() -> usize {
        ME.with_borrow(|me| me.number)
    }

    /// Also lets others run, since there may be more threads than processors.
    fn waits() {
        ME.with_borrow(|me| {
            if let Some(waited) = me.waited.get(me.number) {
                // Release: pairs with the Acquire in `wait_for_waiter`. The thread that calls it
                // then sees this thread in the lock's queue.
                waited.store(true, Release);
            }
        });
        thread::yield_now();
    }

    fn wait_for_waiter(thread: usize) {
        let waited = ME.with_borrow(|me| Arc::clone(&me.waited));
        // Acquire: pairs with the Release in `waits`.
        while !waited[thread].load(Acquire) {
            thread::yield_now();
        }
    }

    fn arrange() {}

    fn explore() {}

    fn soon() -> Duration {
        Self::now() + Duration::from_micros(50)
    }

    fn read<T: Copy>(data: &<Self as Memory>::Data<T>) -> T {
        // SAFETY: a case reads data that no thread changes meanwhile.
        unsafe { data.look(|value| *value) }
    }
}
