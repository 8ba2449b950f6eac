//! An atomic change of a word. Most machines have an instruction for it; where test-and-set
//! registers are the only atomic operation, the word is loaded and stored while the register that
//! guards its line is taken, as MPI's windows do it on the SCC.

use std::cell::Cell;
use std::ptr::from_ref;

use crate::engine::{act, release, take, wait, with};
use crate::machine::Access;

/// Changes a word, and gives what it held.
#[inline]
pub fn change<T: Copy + PartialEq>(cell: &Cell<T>, access: Access, to: impl Fn(T) -> T) -> T {
    match with(|engine| engine.atomic(access, from_ref(cell).addr())) {
        None => {}
        Some(Some(then)) => wait(then),
        Some(None) => return by_register(cell, to),
    }
    let old = cell.get();
    cell.set(to(old));
    old
}

#[cold]
fn by_register<T: Copy + PartialEq>(cell: &Cell<T>, to: impl Fn(T) -> T) -> T {
    let address = from_ref(cell).addr();
    take(address);
    act(|engine| engine.access(Access::Load, address));
    let old = cell.get();
    let new = to(old);
    if new != old {
        act(|engine| engine.access(Access::Store, address));
        cell.set(new);
    }
    release(address);
    old
}
