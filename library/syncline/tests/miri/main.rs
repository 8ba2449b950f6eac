//! Nearly everything that the library has, used by a few threads for a few rounds. That is small
//! enough for Miri, which detects data races, dangling and aliased pointers, uninitialised memory,
//! leaks and deadlocks, and shows stores to other threads as late as the orderings allow. Natively,
//! the same tests run with more rounds. Not tested here: channels with many senders without tasks,
//! waiting for several receivers, and windows.
//!
//! Most values are boxes: if one is lost, dropped twice or read only in part, Miri reports a leak
//! or a faulty pointer. Locks and delegation locks are those of the catalogues, so a new one is
//! included automatically. `./x miri` runs these tests with many seeds, with both of Miri's models
//! of aliasing (Stacked Borrows and Tree Borrows).

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

/// Long enough for other threads to begin to wait. In Miri, time advances with the steps of the
/// program.
const SOON: Duration = Duration::from_millis(2);
/// Shorter than [`SOON`].
const AT_ONCE: Duration = Duration::from_micros(200);

/// Runs threads, numbered from 0, and waits until all have ended.
fn together(body: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        let body = &body;
        (0..THREADS).for_each(|number| _ = scope.spawn(move || body(number)));
    });
}

/// Runs threads, numbered from 0, while a guard is held. Drops the guard when the threads wait.
fn behind<G>(guard: G, body: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        let body = &body;
        (0..THREADS).for_each(|number| _ = scope.spawn(move || body(number)));
        thread::sleep(SOON);
        drop(guard);
    });
}

/// Calls a function that has to panic.
fn fails<R>(what: impl FnOnce() -> R) {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(what));
    assert!(outcome.is_err(), "it should have panicked");
}

/// Panics, without the panic hook's message.
fn fail() -> ! {
    std::panic::resume_unwind(Box::new("on purpose"))
}
