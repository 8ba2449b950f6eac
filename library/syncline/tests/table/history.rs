//! Decides whether a recorded history of a map is linearizable.
//!
//! An operation on a key takes effect at one moment between its call and its return. So a history
//! is right if its operations can be put in an order in which each gives the answer that it gave.
//! In this order, an operation that returned before another was called must come before it.
//! Operations on different keys don't concern each other, so each key has its own order.
//!
//! The search is Wing and Gong's ("Testing and Verifying Concurrent Objects", 1993) with Lowe's
//! cache of the states that were tried ("Testing for Linearizability", 2017).

use std::collections::HashSet;

/// An operation, and its answer.
#[derive(Clone, Copy, Debug)]
pub enum What {
    Get(Option<u64>),
    Insert(u64, Option<u64>),
    Remove(Option<u64>),
    /// Adds one to the value, if there is one, and answers the new value.
    Increment(Option<u64>),
}

impl What {
    /// The value after the operation; `None` if the operation could not have given its answer.
    fn apply(self, value: Option<u64>) -> Option<Option<u64>> {
        let (answer, right, after) = match self {
            Self::Get(found) => (found, value, value),
            Self::Insert(new, old) => (old, value, Some(new)),
            Self::Remove(old) => (old, value, None),
            Self::Increment(new) => (new, value.map(|value| value + 1), value.map(|v| v + 1)),
        };
        (answer == right).then_some(after)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Operation {
    pub called: u64,
    pub returned: u64,
    pub what: What,
}

/// The most operations on a key: a set of them fits into a word.
pub const MOST: usize = 64;

/// Whether there is an order that explains the operations on one key. The key is absent at first.
pub fn is_linearizable(operations: &[Operation]) -> bool {
    assert!(operations.len() <= MOST, "{} operations", operations.len());
    explains(operations, 0, None, &mut HashSet::new())
}

/// Whether there is an order for the operations that are not in the set `done`. Those in the set
/// have left `value`.
fn explains(
    operations: &[Operation],
    done: u64,
    value: Option<u64>,
    tried: &mut HashSet<(u64, Option<u64>)>,
) -> bool {
    let left = || (0..operations.len()).filter(move |at| done & 1 << at == 0);
    let Some(first_return) = left().map(|at| operations[at].returned).min() else { return true };
    if !tried.insert((done, value)) {
        return false;
    }
    // Only an operation that was called before any other returned can be next.
    left().filter(|&at| operations[at].called <= first_return).any(|at| {
        let after = operations[at].what.apply(value);
        after.is_some_and(|after| explains(operations, done | 1 << at, after, tried))
    })
}

/// Makes a history from operations, each with the moments of its call and its return.
fn drawn(operations: &[(u64, u64, What)]) -> Vec<Operation> {
    operations
        .iter()
        .map(|&(called, returned, what)| Operation { called, returned, what })
        .collect()
}

#[test]
fn known_histories() {
    use What::{Get, Increment, Insert, Remove};
    let right = [
        // ====      insert 1
        //   ====    get: nothing yet
        //      ===  get: 1
        drawn(&[(0, 4, Insert(1, None)), (2, 6, Get(None)), (5, 8, Get(Some(1)))]),
        drawn(&[(0, 9, Insert(1, Some(2))), (1, 8, Insert(2, None)), (10, 11, Get(Some(1)))]),
        drawn(&[(0, 9, Increment(None)), (1, 8, Insert(2, None)), (2, 7, Increment(Some(3)))]),
        drawn(&[(0, 5, Remove(Some(7))), (1, 6, Insert(7, None)), (7, 8, Get(None))]),
    ];
    let wrong = [
        // A value is gone although no thread removed it.
        drawn(&[(0, 1, Insert(1, None)), (2, 3, Get(None))]),
        // The new value is found, and then the old one again.
        drawn(&[
            (0, 1, Insert(1, None)),
            (2, 9, Insert(2, Some(1))),
            (3, 4, Get(Some(2))),
            (5, 6, Get(Some(1))),
        ]),
        // Two threads have removed the same value.
        drawn(&[(0, 1, Insert(1, None)), (2, 5, Remove(Some(1))), (3, 4, Remove(Some(1)))]),
        // An update is lost.
        drawn(&[(0, 1, Insert(1, None)), (2, 5, Increment(Some(2))), (3, 6, Increment(Some(2)))]),
    ];
    assert!(right.iter().all(|history| is_linearizable(history)));
    assert!(!wrong.iter().any(|history| is_linearizable(history)));
}
