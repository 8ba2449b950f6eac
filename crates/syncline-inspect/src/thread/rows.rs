//! A thread's table of acquisitions by lock and call site.
//!
//! Tables are memory of which only what is touched becomes real: most threads touch a page or two.
//! That of a thread that has ended goes to one that begins, so there are never more tables than
//! there were threads at once.

use core::cell::Cell;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::alloc;

/// Places for (lock, call site). When so many are in use they are written out and given up.
pub const ROWS: usize = 2048;
/// Tables that wait for a thread; of more, the memory stays unused.
const SPARE: usize = 256;

static FREE: [AtomicPtr<Row>; SPARE] = [const { AtomicPtr::new(core::ptr::null_mut()) }; SPARE];

/// Acquisitions of a lock at a call site.
pub struct Row {
    /// What will be written: everything but the thread's owner only reads it at the end.
    pub lock: AtomicU64,
    /// Return address.
    pub site: AtomicU64,
    pub acquisitions: AtomicU64,
    pub contended: AtomicU64,
    pub traced: AtomicU64,
    pub waited: AtomicU64,
    pub held: AtomicU64,
    pub held_samples: AtomicU64,
    pub op: AtomicU32,
    /// Whether its sections are to be traced.
    pub selected: Cell<bool>,
    /// Whether its site has had few, as far as is known.
    pub rare: Cell<bool>,
}

impl Row {
    /// Its counts.
    pub fn counts(&self) -> [&AtomicU64; 6] {
        let Row { acquisitions, contended, traced, waited, held, held_samples, .. } = self;
        [acquisitions, contended, traced, waited, held, held_samples]
    }
}

/// An empty table; none if there is no memory.
pub fn take() -> Option<&'static [Row]> {
    let spare = FREE.iter().find_map(|place| {
        let found = place.load(Ordering::Relaxed);
        // Acquire: with the Release of `give_back`, its last owner is done with it.
        let taken = |found| {
            let (none, order) = (core::ptr::null_mut(), Ordering::Acquire);
            place.compare_exchange(found, none, order, Ordering::Relaxed).is_ok()
        };
        (!found.is_null() && taken(found)).then_some(found)
    });
    let rows = spare.unwrap_or_else(|| alloc::map(size_of::<[Row; ROWS]>(), 4096).cast());
    // SAFETY: zeros are an empty row; a table has so many, stays mapped, and is this thread's alone
    // but for the words that others read at the process's end, which are atomic.
    (!rows.is_null()).then(|| unsafe { core::slice::from_raw_parts(rows, ROWS) })
}

/// Empties a table, and keeps it for another thread.
pub fn give_back(rows: &'static [Row]) {
    if rows.is_empty() {
        return;
    }
    for row in rows.iter().filter(|row| row.lock.load(Ordering::Relaxed) != 0) {
        row.lock.store(0, Ordering::Relaxed);
    }
    let table = rows.as_ptr().cast_mut();
    for place in &FREE {
        let (none, order) = (core::ptr::null_mut(), Ordering::Release);
        if place.compare_exchange(none, table, order, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}
