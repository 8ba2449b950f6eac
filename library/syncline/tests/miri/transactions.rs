//! Transactions on both engines.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use syncline::memory::Native;
use syncline::stm::pace::{Measured, Pace};
use syncline::stm::{Engine, Served, Session, Shared, TCell, TVar, atomically};
use syncline::wait::{Park, Spin, Wait};

use crate::{ROUNDS, SOON, THREADS, fail, fails, together};

/// Money goes from a cell to a variable and back. Every attempt must see the right sum.
struct Accounts<E: Engine> {
    cell: TCell<u64, E::Memory>,
    variable: TVar<Box<u64>, E::Memory>,
}

const FUNDS: u64 = 10;

impl<E: Engine> Accounts<E> {
    fn of(engine: &E) -> Self {
        Self { cell: engine.cell(FUNDS), variable: engine.var(Box::new(FUNDS)) }
    }

    fn transfer(&self, session: &mut Session<'_, E>) {
        session.atomically(|tx| {
            let (cell, variable) = (self.cell.get(tx)?, self.variable.get(tx)?);
            assert_eq!(cell + *variable, 2 * FUNDS, "money was made or lost");
            if cell > 0 {
                self.cell.set(tx, cell - 1);
                self.variable.set(tx, Box::new(*variable + 1));
            } else {
                self.cell.set(tx, cell + *variable);
                self.variable.set(tx, Box::new(0));
            }
            Ok(())
        });
    }

    fn used(&self, engine: &E) {
        let mut session = Session::new(engine);
        (0..ROUNDS).for_each(|_| self.transfer(&mut session));
        fails(|| {
            session.atomically(|tx| -> syncline::stm::Result<()> {
                self.variable.set(tx, Box::new(0));
                fail()
            })
        });
        self.transfer(&mut session);
    }
}

/// A pace that changes after each transaction: side by side, then one after the other, and so on.
#[derive(Debug, Default)]
struct Alternating(AtomicBool);

impl Pace for Alternating {
    const EVERY: u32 = 1;

    fn next(&self, _: impl FnOnce() -> Duration, run: impl FnOnce(bool)) {
        run(!self.0.fetch_xor(true, Relaxed));
    }
}

fn shared<W: Wait, P: Pace>() {
    let engine = Shared::<W, Native, 8, P>::default();
    let accounts = Accounts::of(&engine);
    together(|_| accounts.used(&engine));
    assert_eq!(accounts.cell.into_inner() + *accounts.variable.into_inner(), 2 * FUNDS);
}

#[test]
fn by_versions_and_spinning() {
    shared::<Spin, Measured>();
}

#[test]
fn by_versions_and_parking() {
    shared::<Park, Measured>();
}

#[test]
fn in_place_and_aside() {
    shared::<Park, Alternating>();
}

#[test]
fn by_lock_servers() {
    let (engine, servers): (Served, _) = Served::new(THREADS as usize, 2);
    let accounts = Accounts::of(&engine);
    thread::scope(|scope| {
        servers.into_iter().for_each(|server| _ = scope.spawn(|| server.serve()));
        together(|_| accounts.used(&engine));
        engine.close();
    });
    assert_eq!(accounts.cell.into_inner() + *accounts.variable.into_inner(), 2 * FUNDS);
}

#[test]
fn a_transaction_sleeps_until_what_it_has_read_changes() {
    let (first, second) = (TVar::new(None), TCell::new(0_u64));
    let take = || {
        atomically(|tx| {
            tx.or_else(
                |tx| match first.get(tx)? {
                    Some(number) => {
                        first.set(tx, None);
                        Ok(Box::clone(&number))
                    }
                    None => tx.retry(),
                },
                |tx| match second.get(tx)? {
                    0 => tx.retry(),
                    number => {
                        second.set(tx, 0);
                        Ok(Box::new(number))
                    }
                },
            )
        })
    };
    thread::scope(|scope| {
        let taken = scope.spawn(|| [take(), take()]);
        thread::sleep(SOON);
        atomically(|tx| {
            first.set(tx, Some(Box::new(1)));
            Ok(())
        });
        thread::sleep(SOON);
        atomically(|tx| {
            second.set(tx, 2);
            Ok(())
        });
        assert_eq!(taken.join().expect("it ends"), [Box::new(1), Box::new(2)]);
    });
}

/// A list is taken apart while other threads walk along it.
#[test]
fn nodes_outlive_those_who_walk_on_them() {
    struct Node {
        number: TCell<u64>,
        next: TVar<Option<Arc<Node>>>,
    }
    let list = (0..2 * ROUNDS).fold(None, |next, number| {
        Some(Arc::new(Node { number: TCell::new(number), next: TVar::new(next) }))
    });
    let head = TVar::new(list);
    together(|thread| {
        for _ in 0..ROUNDS {
            atomically(|tx| {
                let mut link = head.get(tx)?;
                if thread == 0
                    && let Some(first) = link
                {
                    let next = tx.keep(first).next.get(tx)?;
                    head.set(tx, next);
                    return Ok(());
                }
                let mut last = 2 * ROUNDS;
                while let Some(node) = link {
                    let node = tx.keep(node);
                    let number = node.number.get(tx)?;
                    assert!(number < last);
                    last = number;
                    link = node.next.get(tx)?;
                }
                Ok(())
            });
        }
    });
}

/// More cells than a transaction searches one by one for what it has written.
#[test]
fn a_transaction_of_many_cells() {
    let cells: Vec<TCell<u64>> = (0..20).map(TCell::new).collect();
    together(|_| {
        atomically(|tx| {
            for pair in cells.windows(2) {
                let (left, right) = (pair[0].get(tx)?, pair[1].get(tx)?);
                pair[0].set(tx, right);
                pair[1].set(tx, left);
            }
            Ok(())
        });
    });
    let numbers: Vec<u64> = cells.into_iter().map(TCell::into_inner).collect();
    assert_eq!(numbers, (0..20).map(|at| (at + THREADS) % 20).collect::<Vec<_>>());
}
