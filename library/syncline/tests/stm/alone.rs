//! Transactions that run alone and write in place. If an attempt fails, its writes are undone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use syncline::memory::Native;
use syncline::stm::pace::Pace;
use syncline::stm::{Engine, Result, Session, Shared, TCell, TVar, atomically};
use syncline::wait::Park;

use crate::{Noting, ROUNDS, THREADS, panics, run};

/// A pace under which all transactions after an engine's first run one after the other.
#[derive(Debug, Default)]
struct Always;

impl Pace for Always {
    const EVERY: u32 = 1;

    fn next(&self, _: impl FnOnce() -> Duration, run: impl FnOnce(bool)) {
        run(true);
    }
}

/// A pace that changes after each transaction: side by side, then one after the other, and so on.
#[derive(Debug, Default)]
struct Alternating(AtomicBool);

impl Pace for Alternating {
    const EVERY: u32 = 1;

    fn next(&self, _: impl FnOnce() -> Duration, run: impl FnOnce(bool)) {
        run(!self.0.fetch_xor(true, SeqCst));
    }
}

type Engines<P> = Shared<Park, Native, 8, P>;

/// An engine whose next transactions run one after the other.
fn engine<P: Pace>() -> Engines<P> {
    let engine = Engines::<P>::default();
    Session::new(&engine).atomically(|_| Ok(()));
    engine
}

/// More cells than a transaction searches one by one for what it has written.
const CELLS: usize = 40;

fn cells<P: Pace>(engine: &Engines<P>) -> Vec<TCell<usize>> {
    (0..CELLS).map(|number| engine.cell(number)).collect()
}

#[test]
fn a_panic_takes_back_what_was_written_in_place() {
    let engine = engine::<Always>();
    let (cells, name) = (cells(&engine), engine.var(String::from("before")));
    let mut session = Session::new(&engine);
    let text = panics(|| {
        session.atomically(|tx| -> Result<()> {
            for round in 1..3 {
                for cell in &cells {
                    let before = cell.get(tx)?;
                    cell.set(tx, before + round);
                    assert_eq!(cell.get(tx)?, before + round);
                }
                name.set(tx, format!("after {round}"));
                assert_eq!(name.get(tx)?, format!("after {round}"));
            }
            panic!("enough")
        })
    });
    assert_eq!(text, "enough");
    // Other transactions can run again.
    let seen = Session::new(&engine).atomically(|tx| {
        let numbers: Result<Vec<_>> = cells.iter().map(|cell| cell.get(tx)).collect();
        Ok((numbers?, name.get(tx)?))
    });
    assert_eq!(seen, ((0..CELLS).collect(), "before".into()));
}

#[test]
fn alternatives_start_from_what_was_written_before_them() {
    let engine = engine::<Always>();
    let (cells, name) = (cells(&engine), engine.var(String::from("before")));
    let mut session = Session::new(&engine);
    let text = panics(|| {
        session.atomically(|tx| {
            cells[0].set(tx, 100);
            name.set(tx, "first".into());
            tx.or_else(
                |tx| {
                    cells.iter().for_each(|cell| cell.set(tx, 7));
                    name.set(tx, "second".into());
                    tx.retry()
                },
                |tx| {
                    let seen = (cells[0].get(tx)?, cells[1].get(tx)?, name.get(tx)?);
                    assert_eq!(seen, (100, 1, "first".into()));
                    cells[1].set(tx, 101);
                    Ok(())
                },
            )?;
            assert_eq!((cells[0].get(tx)?, cells[1].get(tx)?), (100, 101));
            if name.get(tx)? == "first" { panic!("enough") } else { Ok(()) }
        })
    });
    assert_eq!(text, "enough");
    let seen = session.atomically(|tx| {
        tx.or_else(|tx| tx.retry(), |tx| Ok((cells[0].get(tx)?, cells[1].get(tx)?)))
    });
    assert_eq!((seen, name.into_inner().as_str()), ((0, 1), "before"));
}

#[test]
fn what_is_undone_is_as_it_was() {
    let engine = engine::<Always>();
    let (cells, name) = (cells(&engine), engine.var(1_u32));
    Session::new(&engine).atomically(|tx| {
        cells.iter().for_each(|cell| cell.set(tx, 7));
        name.set(tx, 2);
        tx.undo();
        assert_eq!((cells[3].get(tx)?, name.get(tx)?), (3, 1));
        cells[4].set(tx, 8);
        Ok(())
    });
    let numbers: Vec<_> = cells.into_iter().map(TCell::into_inner).collect();
    assert_eq!((numbers[3], numbers[4], name.into_inner()), (3, 8, 1));
}

#[test]
fn a_cell_of_another_engine_is_refused() {
    let engine = engine::<Always>();
    let (mine, other, name) = (engine.cell(1_u32), TCell::new(1_u32), TVar::new(1_u32));
    let mut session = Session::new(&engine);
    let texts = [
        panics(|| {
            session.atomically(|tx| {
                mine.set(tx, 2);
                other.get(tx)
            })
        }),
        panics(|| {
            session.atomically(|tx| {
                mine.set(tx, 2);
                other.set(tx, 2);
                name.set(tx, 2);
                Ok(())
            })
        }),
        panics(|| session.atomically(|tx| name.share(tx))),
    ];
    assert!(texts.iter().all(|text| text.contains("belongs to another engine")), "{texts:?}");
    assert_eq!((mine.into_inner(), other.into_inner(), name.into_inner()), (1, 1, 1));
}

#[test]
fn waiting_for_nothing_panics() {
    let engine = engine::<Always>();
    let mut session = Session::new(&engine);
    let text = panics(|| session.atomically(|tx| tx.retry::<()>()));
    assert!(text.contains("without having read anything"), "{text}");
    assert!(Session::new(&engine).atomically(|_| Ok(true)));
}

#[test]
fn who_waits_alone_is_woken_and_keeps_nobody_out() {
    let engine = engine::<Always>();
    let (full, name) = (engine.cell(false), engine.var(String::new()));
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            Session::new(&engine).atomically(|tx| {
                name.set(tx, "waits".into());
                if full.get(tx)? { Ok(()) } else { tx.retry() }
            });
        });
        let mut session = Session::new(&engine);
        assert_eq!(session.atomically(|tx| name.get(tx)), "");
        session.atomically(|tx| {
            full.set(tx, true);
            Ok(())
        });
        waits.join().expect("it is woken");
    });
    assert_eq!(name.into_inner(), "waits");
}

#[test]
fn what_was_replaced_is_dropped_outside_of_the_transaction() {
    let engine = engine::<Always>();
    let dropped = Arc::new(TCell::new(0));
    let variable = engine.var(Noting(Arc::clone(&dropped)));
    Session::new(&engine).atomically(|tx| {
        variable.set(tx, Noting(Arc::clone(&dropped)));
        Ok(())
    });
    assert_eq!(atomically(|tx| dropped.get(tx)), 1);
}

/// Each transaction reads all values and exchanges two of them. After each, the engine changes
/// between side by side and one after the other.
#[test]
fn every_attempt_sees_one_moment_however_it_runs() {
    const EACH: u64 = 100;
    let engine = engine::<Alternating>();
    let words: Vec<TCell<u64>> = (0..8).map(|_| engine.cell(EACH)).collect();
    let variable = engine.var(EACH);
    run(THREADS, |thread| {
        let mut session = Session::new(&engine);
        for round in 0..ROUNDS as usize / 3 {
            session.atomically(|tx| {
                let mut sum = variable.get(tx)?;
                for word in &words {
                    sum += word.get(tx)?;
                }
                assert_eq!(sum, 9 * EACH, "money was made or lost");
                let (word, others) = (&words[(round + thread) % 8], variable.get(tx)?);
                let funds = word.get(tx)?;
                word.set(tx, others);
                variable.set(tx, funds);
                Ok(())
            });
        }
    });
    let sum: u64 = words.into_iter().map(TCell::into_inner).sum();
    assert_eq!(sum + variable.into_inner(), 9 * EACH);
}
