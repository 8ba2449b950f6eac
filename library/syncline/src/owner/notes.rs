//! The notes of all threads: which locks each one holds and waits for.
//!
//! A thread changes its own note only, under the note's lock. A thread that looks for a cycle keeps
//! the notes that it has read locked. So the threads of these notes can't end their waits
//! meanwhile, and what the notes say is true at one moment.
//!
//! A thread notes nothing while it changes its note, nor during a wait that it has noted: the
//! allocator may use locks of this crate, and a thread with a noted wait must do nothing but wait.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::panic::Location;
use core::sync::atomic::AtomicPtr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

use super::lock::{Named, Owner};
use super::mode::Mode;
use super::number::this_thread;

/// A lock that a thread holds.
#[derive(Clone, Copy)]
pub(super) struct Hold {
    /// The lock's name.
    pub lock: usize,
    pub mode: Mode,
    /// Where it was acquired.
    pub since: &'static Location<'static>,
}

/// A lock that a thread waits for.
pub(super) struct Wait {
    /// The lock's own notes, which exist as long as the thread waits.
    pub owner: AtomicPtr<Owner>,
    pub mode: Mode,
    pub lock: Named,
    /// Where it waits.
    pub since: &'static Location<'static>,
}

/// The locks that a thread holds, and the one that it waits for.
pub(super) struct Note {
    pub thread: Thread,
    pub holds: Vec<Hold>,
    pub wait: Option<Wait>,
}

/// The notes of all threads that have acquired a lock or waited for one, and have not ended. The
/// keys are the threads' numbers. A thread locks this map before it locks several notes.
pub(super) type Notes = BTreeMap<usize, Arc<Mutex<Note>>>;
static NOTES: Mutex<Notes> = Mutex::new(BTreeMap::new());

std::thread_local! {
    /// Whether this thread notes nothing at the moment.
    static SILENT: Cell<bool> = const { Cell::new(false) };
    static OWN: Own = Own::new();
}

/// A thread's own note, which is removed when the thread ends.
struct Own(Arc<Mutex<Note>>);

impl Own {
    fn new() -> Self {
        let note = Note { thread: thread::current(), holds: Vec::new(), wait: None };
        let note = Arc::new(Mutex::new(note));
        lock(&NOTES).insert(this_thread(), Arc::clone(&note));
        Self(note)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        SILENT.set(true);
        let note = lock(&NOTES).remove(&this_thread());
        drop(note);
        SILENT.set(false);
    }
}

/// Notes that this thread holds a lock.
pub(super) fn holds(hold: Hold) {
    change(|note| note.holds.push(hold));
}

/// Notes that this thread releases a lock.
pub(super) fn releases(lock: usize, mode: Mode) {
    change(|note| {
        let held = note.holds.iter().rposition(|hold| hold.lock == lock && hold.mode == mode);
        if let Some(held) = held {
            note.holds.swap_remove(held);
        }
    });
}

/// Notes that this thread waits. Returns whether the wait was noted. From here to [`waits_no_more`]
/// the thread notes nothing else.
pub(super) fn waits(wait: Wait) -> bool {
    let noted = change(|note| note.wait = Some(wait));
    SILENT.set(SILENT.get() || noted);
    noted
}

/// Notes that this thread's wait has ended.
pub(super) fn waits_no_more() {
    SILENT.set(false);
    change(|note| note.wait = None);
}

/// All notes, locked. The caller has noted a wait, so it is silent.
pub(super) fn all() -> MutexGuard<'static, Notes> {
    lock(&NOTES)
}

/// Locks a note or all of them. Ignores poisoning, since a panic of this module leaves the notes as
/// they are.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Changes this thread's note, if the thread is not silent and not about to end. Says whether it
/// changed the note.
fn change(change: impl FnOnce(&mut Note)) -> bool {
    if SILENT.replace(true) {
        return false;
    }
    let changed = OWN.try_with(|own| change(&mut lock(&own.0))).is_ok();
    SILENT.set(false);
    changed
}
