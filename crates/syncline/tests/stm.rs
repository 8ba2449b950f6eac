//! Transactions natively: many at once, waiting for each other, and used as they should not be.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread;

use syncline::stm::{Engine, GLOBAL, Served, Session, Shared, TCell, TVar, atomically};

const ROUNDS: u32 = 3_000;
const THREADS: usize = 4;

fn value<T: syncline::stm::NoUninit + Send>(cell: &TCell<T>) -> T {
    atomically(|tx| cell.get(tx))
}

/// Runs threads, numbered from 0, and waits for their ends, each of which a sanitizer sees.
fn run(threads: usize, body: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        let body = &body;
        let threads: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || body(thread))).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("a thread ends"));
    });
}

/// What a closure's panic says.
fn panics<R>(what: impl FnOnce() -> R) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(what)).err();
    let panic = panic.expect("it should have panicked");
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).expect("a text")
}

#[test]
fn nothing_is_lost() {
    let count = TCell::new(0_u32);
    run(THREADS, |_| {
        for _ in 0..ROUNDS {
            atomically(|tx| {
                let before = count.get(tx)?;
                count.set(tx, before + 1);
                Ok(())
            });
        }
    });
    assert_eq!(value(&count), ROUNDS * THREADS as u32);
}

/// Some transfer between cells of both kinds, others look at all of them: what they see must add
/// up inside of the transaction, also in attempts that fail later.
#[test]
fn every_attempt_sees_one_moment() {
    const ACCOUNTS: usize = 16;
    const EACH: u64 = 100;
    let words: Vec<TCell<u64>> = (0..ACCOUNTS).map(|_| TCell::new(EACH)).collect();
    let variables: Vec<TVar<u64>> = (0..ACCOUNTS).map(|_| TVar::new(EACH)).collect();
    let over = AtomicBool::new(false);
    let transfer = |thread: usize| {
        for round in 0..ROUNDS as usize {
            let from = (round * 7 + thread) % ACCOUNTS;
            let to = (round * 5 + thread * 3) % ACCOUNTS;
            let amount = 1 + round as u64 % 3;
            atomically(|tx| {
                let funds = words[from].get(tx)?;
                if funds >= amount {
                    words[from].set(tx, funds - amount);
                    let before = variables[to].get(tx)?;
                    variables[to].set(tx, before + amount);
                } else {
                    let all = variables[to].get(tx)?;
                    variables[to].set(tx, 0);
                    words[from].set(tx, funds + all);
                }
                Ok(())
            });
        }
        over.store(true, SeqCst);
    };
    let look = || {
        while !over.load(SeqCst) {
            atomically(|tx| {
                let mut sum = 0;
                for (word, variable) in words.iter().zip(&variables) {
                    sum += word.get(tx)? + variable.get(tx)?;
                }
                assert_eq!(sum, 2 * ACCOUNTS as u64 * EACH, "money was made or lost");
                Ok(())
            });
        }
    };
    run(THREADS, |thread| if thread % 2 == 0 { transfer(thread) } else { look() });
}

/// Two threads hand numbers to each other through one slot, and sleep in between.
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

/// As `every_attempt_sees_one_moment`, by messages: with two lock servers.
#[test]
fn lock_servers_keep_transactions_apart() {
    const ACCOUNTS: usize = 8;
    const EACH: u64 = 1000;
    let (engine, servers): (Served, _) = Served::new(THREADS, 2);
    let accounts: Vec<_> = (0..ACCOUNTS).map(|_| engine.cell(EACH)).collect();
    let name = engine.var(String::new());
    thread::scope(|scope| {
        let servers: Vec<_> =
            servers.into_iter().map(|server| scope.spawn(|| server.serve())).collect();
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (engine, accounts, name) = (&engine, &accounts, &name);
                scope.spawn(move || {
                    let mut session = Session::new(engine);
                    for round in 0..ROUNDS as usize / 30 {
                        let (from, to) = (&accounts[round % ACCOUNTS], &accounts[thread]);
                        session.atomically(|tx| {
                            let funds = from.get(tx)?;
                            from.set(tx, funds - 1);
                            let before = to.get(tx)?;
                            to.set(tx, before + 1);
                            let longer = name.get(tx)? + ".";
                            name.set(tx, longer);
                            Ok(())
                        });
                        let sum = session.atomically(|tx| {
                            accounts.iter().try_fold(0, |sum, cell| Ok(sum + cell.get(tx)?))
                        });
                        assert_eq!(sum, ACCOUNTS as u64 * EACH);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        engine.close();
        servers.into_iter().for_each(|server| server.join().unwrap());
    });
    assert_eq!(name.into_inner().len(), THREADS * (ROUNDS as usize / 30));
}

#[test]
fn lock_servers_have_room_for_so_many_sessions() {
    let (engine, servers): (Served, _) = Served::new(1, 1);
    let cell = engine.cell(1_u32);
    let session = Session::new(&engine);
    assert!(panics(|| Session::new(&engine)).contains("made for fewer sessions"));
    drop(session);
    let mut session = Session::new(&engine);
    drop(servers);
    let text = panics(|| session.atomically(|tx| cell.get(tx)));
    assert!(text.contains("the lock server is gone"), "{text}");
    let mine = TCell::new(1_u32);
    let text = panics(|| session.atomically(|tx| mine.get(tx)));
    assert!(text.contains("belongs to another engine"), "{text}");
}

/// A transaction that reads a thousand cells ends, although others change them all the time.
#[test]
fn a_long_transaction_is_not_starved_by_short_ones() {
    const CELLS: usize = 1000;
    let cells: Vec<TCell<u32>> = (0..CELLS).map(|_| TCell::new(0)).collect();
    let over = AtomicBool::new(false);
    let short = |thread: usize| {
        let mut place = thread;
        while !over.load(SeqCst) {
            place = (place * 31 + 7) % CELLS;
            let cell = &cells[place];
            atomically(|tx| {
                let before = cell.get(tx)?;
                cell.set(tx, before.wrapping_add(1));
                Ok(())
            });
        }
    };
    let long = || {
        for _ in 0..20 {
            atomically(|tx| {
                for cell in &cells {
                    let before = cell.get(tx)?;
                    // Time for the others to get in the way.
                    thread::yield_now();
                    cell.set(tx, before.wrapping_add(1));
                }
                Ok(())
            });
        }
        over.store(true, SeqCst);
    };
    run(THREADS + 1, |thread| if thread == 0 { long() } else { short(thread) });
}

#[test]
fn a_panic_changes_nothing_and_stops_nobody() {
    let (cell, name) = (TCell::new(1_u32), TVar::new(String::from("before")));
    let text = panics(|| {
        atomically(|tx| -> syncline::stm::Result<()> {
            cell.set(tx, 2);
            name.set(tx, String::from("after"));
            assert_eq!(cell.get(tx)?, 2);
            panic!("enough")
        })
    });
    assert_eq!(text, "enough");
    assert_eq!((value(&cell), atomically(|tx| name.get(tx))), (1, "before".into()));
}

#[test]
fn a_transaction_within_a_transaction_panics() {
    let cell = TCell::new(1_u32);
    let text = panics(|| atomically(|_| Ok(value(&cell))));
    assert!(text.contains("in a transaction already"), "{text}");
    let other = <Shared>::default();
    let text = panics(|| {
        atomically(|_| {
            Session::new(&other).atomically(|_| Ok(()));
            Ok(())
        })
    });
    assert!(text.contains("in a transaction already"), "{text}");
    assert_eq!(value(&cell), 1);
}

#[test]
fn a_cell_of_another_engine_is_refused() {
    let other = <Shared>::default();
    let (word, variable) = (other.cell(1_u32), other.var(1_u32));
    let mine = TCell::new(1_u32);
    let texts = [
        panics(|| atomically(|tx| word.get(tx))),
        panics(|| {
            atomically(|tx| {
                mine.set(tx, 2);
                word.set(tx, 2);
                Ok(())
            })
        }),
        panics(|| atomically(|tx| variable.share(tx))),
        panics(|| {
            atomically(|tx| {
                variable.set(tx, 2);
                Ok(())
            })
        }),
        panics(|| Session::new(&other).atomically(|tx| mine.get(tx))),
    ];
    assert!(texts.iter().all(|text| text.contains("belongs to another engine")), "{texts:?}");
    assert_eq!((value(&mine), word.into_inner()), (1, 1));
    assert_eq!(Session::new(&GLOBAL).atomically(|tx| mine.get(tx)), 1);
}

#[test]
fn waiting_for_nothing_panics() {
    let text = panics(|| atomically(|tx| tx.retry::<()>()));
    assert!(text.contains("without having read anything"), "{text}");
}

/// A value that counts how many there are, and panics if told to.
struct Fragile {
    alive: Arc<AtomicUsize>,
    in_clone: bool,
    in_drop: bool,
}

impl Fragile {
    fn new(alive: &Arc<AtomicUsize>, in_clone: bool, in_drop: bool) -> Self {
        alive.fetch_add(1, SeqCst);
        Self { alive: Arc::clone(alive), in_clone, in_drop }
    }
}

impl Clone for Fragile {
    fn clone(&self) -> Self {
        assert!(!self.in_clone, "clone");
        Self::new(&self.alive, self.in_clone, self.in_drop)
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, SeqCst);
        if self.in_drop {
            panic!("drop");
        }
    }
}

#[test]
fn a_clone_that_panics_changes_nothing() {
    let alive = Arc::default();
    let variable = TVar::new(Fragile::new(&alive, true, false));
    let cell = TCell::new(1_u32);
    let text = panics(|| {
        atomically(|tx| {
            cell.set(tx, 2);
            variable.get(tx)
        })
    });
    assert_eq!((text.as_str(), value(&cell)), ("clone", 1));
    // The variable can still be read and replaced.
    assert!(atomically(|tx| variable.share(tx)).in_clone);
    atomically(|tx| {
        variable.set(tx, Fragile::new(&alive, false, false));
        Ok(())
    });
    drop(variable);
    assert_eq!(alive.load(SeqCst), 0);
}

#[test]
fn a_drop_that_panics_comes_after_the_commit() {
    let alive = Arc::default();
    let variables: Vec<_> =
        (0..3).map(|place| TVar::new(Fragile::new(&alive, false, place == 1))).collect();
    let cell = TCell::new(1_u32);
    let text = panics(|| {
        atomically(|tx| {
            cell.set(tx, 2);
            for variable in &variables {
                variable.set(tx, Fragile::new(&alive, false, false));
            }
            Ok(())
        })
    });
    assert_eq!((text.as_str(), value(&cell)), ("drop", 2));
    assert_eq!(alive.load(SeqCst), 3, "all that was replaced is gone");
    drop(variables);
    assert_eq!(alive.load(SeqCst), 0);
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

#[test]
fn what_was_replaced_is_dropped_outside_of_the_transaction() {
    let dropped = Arc::new(TCell::new(0));
    let variable = TVar::new(Noting(Arc::clone(&dropped)));
    atomically(|tx| {
        variable.set(tx, Noting(Arc::clone(&dropped)));
        Ok(())
    });
    assert_eq!(value(&dropped), 1);
    drop(variable);
    assert_eq!(value(&dropped), 2);
}

/// A list that grows and shrinks at its head while others walk along it: nodes that were taken
/// out stay until those who are on them have left.
#[test]
fn nodes_outlive_those_who_walk_on_them() {
    struct Node {
        number: TCell<u32>,
        next: TVar<Option<Arc<Node>>>,
        alive: Arc<AtomicU32>,
    }
    impl Drop for Node {
        fn drop(&mut self) {
            self.alive.fetch_sub(1, SeqCst);
        }
    }
    let alive = Arc::new(AtomicU32::new(0));
    let head: TVar<Option<Arc<Node>>> = TVar::new(None);
    let over = AtomicBool::new(false);
    let change = || {
        for round in 0..ROUNDS {
            atomically(|tx| {
                let first = head.get(tx)?;
                let length = first.as_ref().map_or(Ok(0), |node| {
                    let node = tx.keep(Arc::clone(node));
                    node.number.get(tx)
                })?;
                if round % 3 == 2
                    && let Some(first) = first
                {
                    let next = tx.keep(first).next.get(tx)?;
                    head.set(tx, next);
                } else if length < 10 {
                    alive.fetch_add(1, SeqCst);
                    let node = Node {
                        number: TCell::new(length + 1),
                        next: TVar::new(first),
                        alive: Arc::clone(&alive),
                    };
                    head.set(tx, Some(Arc::new(node)));
                }
                Ok(())
            });
        }
        over.store(true, SeqCst);
    };
    let walk = || {
        while !over.load(SeqCst) {
            atomically(|tx| {
                let mut link = head.get(tx)?;
                let mut expected = None;
                while let Some(node) = link {
                    let node = tx.keep(node);
                    let number = node.number.get(tx)?;
                    assert!(expected.is_none_or(|expected| expected == number));
                    expected = Some(number - 1);
                    link = node.next.get(tx)?;
                }
                assert_eq!(expected.unwrap_or(0), 0, "the list is cut short");
                Ok(())
            });
        }
    };
    run(2, |thread| if thread == 0 { change() } else { walk() });
    drop(head);
    assert_eq!(alive.load(SeqCst), 0);
}
