//! Every delegation lock: sections whose callers wait, and detached ones.

use syncline::delegation::{Delegated, RawDelegation};
use syncline::wait::{Park, Spin, Yield};

use crate::{ROUNDS, THREADS, fail, fails, together};

fn attached<D: RawDelegation>() {
    let count: Delegated<Box<u64>, D> = Delegated::from(Box::new(0));
    together(|_| {
        for round in 0..ROUNDS {
            // The section borrows from this stack, and returns a value that owns memory.
            let mut before = None;
            let after = count.with(|count| {
                before = Some(Box::new(**count));
                let next = Box::new(**count + 1);
                *count = next;
                count.clone()
            });
            assert_eq!(before.map(|before| *before + 1), Some(*after));
            if round == 0 {
                fails(|| count.with(|_| fail()));
            }
        }
    });
    assert_eq!(*count.into_inner(), THREADS * ROUNDS);
}

fn detached<D: RawDelegation + 'static>() {
    let count: Delegated<Box<u64>, D> = Delegated::from(Box::new(0));
    together(|number| {
        for _ in 0..ROUNDS {
            let boxed = Box::new(number);
            let waited = count.delegate(move |count| {
                **count += 1;
                boxed
            });
            // A section that is too large for the node.
            let large = [number; 20];
            let dropped = count.delegate(move |count| {
                **count += 1;
                (large, Box::new(0))
            });
            drop(dropped);
            let polled = count.delegate(|count| **count += 1);
            let _ = polled.is_done();
            assert_eq!(*waited.wait(), number);
            polled.wait();
        }
        let failed = count.delegate(|_| fail());
        fails(|| failed.wait());
    });
    assert_eq!(*count.into_inner(), 3 * THREADS * ROUNDS);
}

macro_rules! delegation {
    ($name:ident, $Lock:ident, $($feature:ident)*) => {
        mod $name {
            use super::*;
            use syncline::delegation::$Lock;

            #[test]
            fn attached() {
                super::attached::<$Lock<Spin>>();
                super::attached::<$Lock<Yield>>();
                super::attached::<$Lock<Park>>();
            }

            #[test]
            fn detached() {
                super::detached::<$Lock<Spin>>();
                super::detached::<$Lock<Yield>>();
                super::detached::<$Lock<Park>>();
            }
        }
    };
}

syncline::for_each_delegation!(delegation);
