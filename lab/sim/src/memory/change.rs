//! Loads, stores and atomic changes of simulated words.
//!
//! Most machines have instructions for atomic changes. If a machine only has test-and-set
//! registers, the thread acquires the register that guards the word's line, loads and stores the
//! word, and frees the register, as MPI's windows do on the SCC.

use std::cell::Cell;
use std::ptr::from_ref;
use std::sync::atomic::Ordering;

use super::held::Held;
use crate::engine::{Storing, act, act_after, drain, release, take, wait, with};
use crate::machine::Access;

/// Fetches the line of a word for writing, without changing the word. The fetch costs as much as a
/// write, unless the machine can't fetch lines or its cores go on during the fetch. In these two
/// cases, it costs nothing.
pub fn fetch_for_writing(address: usize) {
    act_after(|engine| engine.wait_for_line(address), |engine| engine.prefetch(address));
}

/// Loads a word. Returns its value at the moment when the access takes effect.
#[inline]
pub fn load<T: Held>(cell: &Cell<T>) -> T {
    let address = from_ref(cell).addr();
    if with(|engine| engine.fetches()) == Some(true) {
        fetch_for_writing(address);
    }
    act_after(
        |engine| engine.wait_for_line(address),
        |engine| engine.access(Access::Load, address),
    );
    seen(cell)
}

/// The value of a word for threads that read it now.
#[inline]
pub fn seen<T: Held>(cell: &Cell<T>) -> T {
    let visible = with(|engine| engine.visible(from_ref(cell).addr()).copied());
    visible.flatten().map_or_else(|| cell.get(), T::of)
}

fn put<T: Held>(cell: &Cell<T>, value: T) {
    let hidden = with(|engine| match engine.visible(from_ref(cell).addr()) {
        Some(visible) => {
            *visible = value.bits();
            true
        }
        None => false,
    });
    if hidden != Some(true) {
        cell.set(value);
    }
}

/// Stores to a word. If the machine has a store buffer, the thread goes on before the store takes
/// effect. Exceptions are sequentially consistent stores, and stores to a line at hand while the
/// buffer is empty.
#[inline]
pub fn store<T: Held>(cell: &Cell<T>, value: T, order: Ordering) {
    if order == Ordering::SeqCst {
        change(cell, Access::Store, |_| value);
        return;
    }
    let address = from_ref(cell).addr();
    loop {
        match with(|engine| engine.store(address, cell.get().bits(), value.bits())) {
            Some(Storing::Wait(then)) => wait(then),
            Some(Storing::Buffered(then)) => {
                cell.set(value);
                return wait(then);
            }
            Some(Storing::Now) | None => break,
        }
    }
    change(cell, Access::Store, |_| value);
}

/// Changes a word atomically, and returns its former value.
#[inline]
pub fn change<T: Held>(cell: &Cell<T>, access: Access, to: impl Fn(T) -> T) -> T {
    drain();
    match with(|engine| engine.atomic(access, from_ref(cell).addr())) {
        None => {}
        Some(Some(then)) => wait(then),
        Some(None) => return by_register(cell, to),
    }
    let old = seen(cell);
    put(cell, to(old));
    old
}

/// Changes a word while holding its line's register, and returns its former value. Machines with
/// such registers have no store buffers, so the word itself has the visible value.
#[cold]
fn by_register<T: Held>(cell: &Cell<T>, to: impl Fn(T) -> T) -> T {
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

/// Tells the engine that a word is dropped, so that buffered stores to it have no effect.
#[inline]
pub fn forget<T>(cell: &Cell<T>) {
    with(|engine| engine.forget(from_ref(cell).addr()));
}
