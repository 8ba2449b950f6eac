//! Transactions natively: many at once, waiting for each other, and misused.

mod alone;
mod misuse;
mod together;
mod waiting;

use std::sync::Arc;
use std::thread;

use syncline::stm::{TCell, atomically};

const ROUNDS: u32 = 3_000;
const THREADS: usize = 4;

fn value<T: syncline::stm::NoUninit + Send>(cell: &TCell<T>) -> T {
    atomically(|tx| cell.get(tx))
}

/// A value that uses a transaction when it is dropped.
struct Noting(Arc<TCell<u32>>);

impl Drop for Noting {
    fn drop(&mut self) {
        let count = &self.0;
        atomically(|tx| {
            let before = count.get(tx)?;
            count.set(tx, before + 1);
            Ok(())
        });
    }
}

/// Runs threads, numbered from 0, and joins each of them, so that a sanitizer sees the order.
fn run(threads: usize, body: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        let body = &body;
        let threads: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || body(thread))).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("a thread ends"));
    });
}

/// The message of a closure's panic. Panics if the closure does not.
fn panics<R>(what: impl FnOnce() -> R) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(what)).err();
    let panic = panic.expect("it should have panicked");
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).expect("a text")
}
