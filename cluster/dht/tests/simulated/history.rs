//! Decides whether a recorded history of one key has an explanation, even if some of its ranks have
//! died.
//!
//! An operation takes effect at one moment between its call and its return. An operation that has
//! not returned, because its rank or the key's rank died, takes effect at some moment after its
//! call, or never.
//!
//! The search is Wing and Gong's ("Testing and Verifying Concurrent Objects", 1993) with Lowe's
//! memoization of tried states ("Testing for Linearizability", 2017).

use std::collections::HashSet;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Get,
    Contains,
    Put(u64),
    Remove,
    /// Adds to the value, or puts this number if there is no value.
    Update(u64),
}

/// The answer of an operation: the value that was found, or whether there was one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Value(Option<u64>),
    Was(bool),
}

#[derive(Clone, Copy, Debug)]
pub struct Operation {
    pub called: u64,
    /// The time of the return; `u64::MAX` if the operation has not returned.
    pub returned: u64,
    pub what: What,
    pub answer: Option<Answer>,
}

impl Operation {
    /// The value after the operation, if the recorded answer is possible with this value before it;
    /// `None` if it is not.
    fn apply(&self, value: Option<u64>) -> Option<Option<u64>> {
        let (after, answer) = match self.what {
            What::Get => (value, Answer::Value(value)),
            What::Contains => (value, Answer::Was(value.is_some())),
            What::Put(new) => (Some(new), Answer::Was(value.is_some())),
            What::Remove => (None, Answer::Was(value.is_some())),
            What::Update(by) => (Some(value.unwrap_or(0) + by), Answer::Value(value)),
        };
        self.answer.is_none_or(|given| given == answer).then_some(after)
    }
}

/// The most operations on a key. With this limit, a set of operations is one number of 128 bits.
pub const MOST: usize = 128;

/// Whether the operations on one key, which is absent at first, have an explanation.
pub fn is_linearizable(operations: &[Operation]) -> bool {
    assert!(operations.len() <= MOST, "{} operations", operations.len());
    explains(operations, 0, None, &mut HashSet::new())
}

fn explains(
    operations: &[Operation],
    done: u128,
    value: Option<u64>,
    tried: &mut HashSet<(u128, Option<u64>)>,
) -> bool {
    let left = || (0..operations.len()).filter(move |at| done & 1 << at == 0);
    let first_return = left().map(|at| operations[at].returned).min().unwrap_or(u64::MAX);
    // The remaining operations have not returned, so they may never have taken effect.
    if first_return == u64::MAX {
        return true;
    }
    if !tried.insert((done, value)) {
        return false;
    }
    left().filter(|&at| operations[at].called <= first_return).any(|at| {
        let after = operations[at].apply(value);
        after.is_some_and(|after| explains(operations, done | 1 << at, after, tried))
    })
}

#[test]
fn known_histories() {
    use Answer::{Value, Was};
    use What::{Get, Put, Remove, Update};
    let drawn = |all: &[(u64, u64, What, Option<Answer>)]| {
        let operation =
            |&(called, returned, what, answer): &_| Operation { called, returned, what, answer };
        all.iter().map(operation).collect::<Vec<_>>()
    };
    const NEVER: u64 = u64::MAX;
    let right = [
        // The effect of a put that never returned may be seen at once, later, or never.
        drawn(&[(0, NEVER, Put(7), None), (2, 3, Get, Some(Value(Some(7))))]),
        drawn(&[(0, NEVER, Put(7), None), (2, 3, Get, Some(Value(None)))]),
        drawn(&[
            (0, NEVER, Put(7), None),
            (2, 3, Get, Some(Value(None))),
            (4, 5, Get, Some(Value(Some(7)))),
        ]),
        drawn(&[(0, 9, Update(1), Some(Value(Some(2)))), (1, 8, Put(2), Some(Was(false)))]),
    ];
    let wrong = [
        drawn(&[(0, 1, Put(7), Some(Was(false))), (2, 3, Get, Some(Value(None)))]),
        // The value is seen, and then gone although no operation removed it.
        drawn(&[
            (0, NEVER, Put(7), None),
            (2, 3, Get, Some(Value(Some(7)))),
            (4, 5, Get, Some(Value(None))),
        ]),
        // Both updates found the same value to which they added.
        drawn(&[
            (0, 1, Put(2), Some(Was(false))),
            (2, 5, Update(1), Some(Value(Some(2)))),
            (3, 6, Update(1), Some(Value(Some(2)))),
        ]),
        drawn(&[(0, 1, Remove, Some(Was(true)))]),
        // The value is seen before the put was called.
        drawn(&[(0, 1, Get, Some(Value(Some(7)))), (2, NEVER, Put(7), None)]),
    ];
    assert!(right.iter().all(|history| is_linearizable(history)));
    assert!(!wrong.iter().any(|history| is_linearizable(history)));
}
