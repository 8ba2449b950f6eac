//! Panics, nesting, cells of other engines, and values whose own code misbehaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use syncline::stm::{Engine, GLOBAL, Session, Shared, TCell, TVar, atomically};

use crate::{Noting, panics, value};

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

/// A value whose instances are counted, and that panics on request.
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

#[test]
fn what_a_transaction_has_set_is_dropped_within_it() {
    let dropped = Arc::new(TCell::new(0));
    let variable = TVar::new(None);
    for undoes in [true, false] {
        let text = panics(|| {
            atomically(|tx| {
                variable.set(tx, Some(Noting(Arc::clone(&dropped))));
                if undoes {
                    tx.undo();
                }
                variable.set(tx, None);
                Ok(())
            })
        });
        assert!(text.contains("in a transaction already"), "{text}");
    }
    assert!(atomically(|tx| variable.share(tx)).is_none());
    assert_eq!(value(&dropped), 0);
}
