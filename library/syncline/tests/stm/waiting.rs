//! Transactions that wait for a change, and alternatives.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

use syncline::stm::{TCell, TVar, atomically};

use crate::{ROUNDS, run, value};

/// One thread hands numbers to another one through one slot, and both sleep in between.
#[test]
fn waiting_ends_when_something_read_changes() {
    let slot = TCell::new(0_u32);
    let sum = AtomicU64::new(0);
    let put = |number: u32| {
        atomically(|tx| {
            if slot.get(tx)? != 0 {
                return tx.retry();
            }
            slot.set(tx, number);
            Ok(())
        });
    };
    let take = || {
        atomically(|tx| match slot.get(tx)? {
            0 => tx.retry(),
            number => {
                slot.set(tx, 0);
                Ok(number)
            }
        })
    };
    run(2, |thread| {
        for number in 1..=ROUNDS {
            if thread == 0 {
                put(number);
            } else {
                sum.fetch_add(u64::from(take()), SeqCst);
            }
        }
    });
    let sum = sum.into_inner();
    assert_eq!(sum, u64::from(ROUNDS) * u64::from(ROUNDS + 1) / 2);
}

#[test]
fn the_first_alternative_that_does_not_wait_is_taken_alone() {
    let (first, second, tried) = (TCell::new(0_u32), TCell::new(5_u32), TCell::new(0_u32));
    let take = || {
        atomically(|tx| {
            tried.set(tx, 1);
            tx.or_else(
                |tx| {
                    tried.set(tx, 2);
                    match first.get(tx)? {
                        0 => tx.retry(),
                        number => Ok(number),
                    }
                },
                |tx| second.get(tx),
            )
        })
    };
    assert_eq!((take(), value(&tried)), (5, 1));
    atomically(|tx| {
        first.set(tx, 9);
        Ok(())
    });
    assert_eq!((take(), value(&tried)), (9, 2));
}

/// If both alternatives wait, a change of what the first has read is enough.
#[test]
fn alternatives_wait_for_what_either_has_read() {
    let (first, second) = (TCell::new(0_u32), TCell::new(0_u32));
    thread::scope(|scope| {
        let taken = scope.spawn(|| {
            let take = |cell: u32| if cell == 0 { None } else { Some(cell) };
            atomically(|tx| {
                tx.or_else(
                    |tx| take(first.get(tx)?).map_or_else(|| tx.retry(), Ok),
                    |tx| take(second.get(tx)?).map_or_else(|| tx.retry(), Ok),
                )
            })
        });
        thread::sleep(std::time::Duration::from_millis(20));
        atomically(|tx| {
            first.set(tx, 3);
            Ok(())
        });
        assert_eq!(taken.join().unwrap(), 3);
    });
}

#[test]
fn what_is_undone_is_not_written() {
    let (cell, name) = (TCell::new(1_u32), TVar::new(String::from("before")));
    let outcome = atomically(|tx| {
        cell.set(tx, 2);
        name.set(tx, String::from("after"));
        tx.undo();
        Ok(Err::<(), _>(cell.get(tx)?))
    });
    assert_eq!((outcome, value(&cell)), (Err(1), 1));
    assert_eq!(name.into_inner(), "before");
}
