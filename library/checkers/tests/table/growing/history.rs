//! Random histories of three threads on few keys. Each history must be linearizable.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use ::shuttle::rand::{Rng, thread_rng};
use syncline_checkers::Engine;

use self::explained::{Operation, What, is_linearizable};
use super::Grows;

/// The decision procedure, which the native tests also use.
#[path = "../../../../syncline/tests/table/history.rs"]
mod explained;

const THREADS: usize = 3;
const STEPS: u64 = 4;
/// Keys of two buckets: several in the first, which is split, and one in the other.
const KEYS: [u64; 5] = [0, 4, 8, 12, 1];

std::thread_local! {
    /// The clock of an execution. All its threads share one system thread.
    static CLOCK: Cell<u64> = const { Cell::new(0) };
}

fn now() -> u64 {
    CLOCK.set(CLOCK.get() + 1);
    CLOCK.get()
}

/// Random operations on a table that grows meanwhile.
pub fn recorded<T: Grows>() {
    CLOCK.set(0);
    let table = Arc::new(T::default());
    let history = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&history);
    T::Memory::run(THREADS, move |thread| {
        for step in 1..=STEPS {
            let key = KEYS[thread_rng().gen_range(0..KEYS.len())];
            let value = step * 100 + thread as u64 * 10;
            let kind = thread_rng().gen_range(0..5);
            let called = now();
            let first = |[first, second]: [u64; 2]| {
                assert_eq!(first, second, "a torn copy was taken for whole");
                first
            };
            let what = match kind {
                0 => What::Get(table.get(key).map(first)),
                1 | 2 => What::Insert(value, table.insert(key, [value; 2]).map(first)),
                3 => What::Remove(table.remove(key).map(first)),
                _ => What::Increment(table.update(key, |[a, b]| [a + 1, b + 1]).map(first)),
            };
            let operation = Operation { called, returned: now(), what };
            all.lock().expect("no panics").push((key, operation));
            // Inserts another key, so that buckets overflow and the table doubles.
            let other = 5 + 4 * (THREADS as u64 * step + thread as u64);
            assert_eq!(table.insert(other, [other; 2]), None);
        }
    });
    let history = history.lock().expect("no panics");
    for key in KEYS {
        let of_key: Vec<_> = history.iter().filter(|o| o.0 == key).map(|o| o.1).collect();
        assert!(is_linearizable(&of_key), "no order explains {of_key:#?}");
    }
}
