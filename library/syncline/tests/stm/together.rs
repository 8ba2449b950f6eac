//! Many transactions at once: each sees all cells as they were at one moment, none is lost, and
//! none starves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;

use syncline::stm::{Engine, Served, Session, TCell, TVar, atomically};

use crate::{ROUNDS, THREADS, panics, run, value};

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

/// Some threads transfer between cells of both kinds, and others read all of them. The sum must be
/// right inside of each transaction, even in attempts that fail later.
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

/// Like `every_attempt_sees_one_moment`, but with two lock servers, to which transactions send
/// messages.
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

#[test]
fn an_engine_without_sessions_or_servers_is_refused() {
    for (sessions, servers) in [(0, 1), (1, 0)] {
        let text = panics(|| drop(<Served>::new(sessions, servers)));
        assert!(text.contains("needs a session and a server"), "{text}");
    }
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
                    // Gives other threads time to change cells.
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

/// A list grows and shrinks at its head while another thread walks along it. Nodes that were
/// removed stay alive until no thread is on them.
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
