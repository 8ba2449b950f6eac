//! Nearly everything that the library has, used by a few threads for a few rounds: small enough for
//! Miri, which sees data races, dangling and aliased pointers, uninitialised memory, leaks and
//! deadlocks, and shows stores to other threads as late as the orderings allow. Natively the same
//! tests run with more rounds. Not here are channels of many senders without tasks, waiting for
//! several receivers, and windows.
//!
//! Most values are boxes: a box that is lost, dropped twice or read half shows as a faulty pointer.
//! Locks and delegation locks are those of the catalogues, so a new one is included automatically.
//! `./x miri` runs this with many seeds, in both of Miri's models of what pointers may do.

mod channels;
mod condvars;
mod delegation;
mod familiar;
mod guards;
mod locks;
mod servers;
mod shared;
mod tables;
mod tasks;
mod transactions;

use std::thread;
use std::time::Duration;

const THREADS: u64 = 3;
const ROUNDS: u64 = if cfg!(miri) { 2 } else { 20 };

/// Long enough for others to come and wait: in Miri's time, which advances as Miri works.
const SOON: Duration = Duration::from_millis(2);
/// Shorter than [`SOON`].
const AT_ONCE: Duration = Duration::from_micros(200);

/// Runs threads, numbered from 0, and waits for their ends.
fn together(body: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        let body = &body;
        (0..THREADS).for_each(|number| _ = scope.spawn(move || body(number)));
    });
}

/// Runs threads, numbered from 0, that come while a guard is held, and drops it when they wait.
fn behind<G>(guard: G, body: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        let body = &body;
        (0..THREADS).for_each(|number| _ = scope.spawn(move || body(number)));
        thread::sleep(SOON);
        drop(guard);
    });
}

/// Runs something that has to panic, without the hook's report.
fn fails<R>(what: impl FnOnce() -> R) {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(what));
    assert!(outcome.is_err(), "it should have panicked");
}

/// A panic without the hook's report.
fn fail() -> ! {
    std::panic::resume_unwind(Box::new("on purpose"))
}
