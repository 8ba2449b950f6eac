//! Records which other lock a thread holds when it acquires one.
//!
//! Only acquisitions that are timed or had to wait are sampled. Most locks are never taken while
//! another is held, so a row gets a record only when that happens.

use syncline_recording::layout::{Nest, Row};

use crate::thread::held::Outer;
use crate::thread::{ThreadState, records};

/// The innermost lock that the thread holds, apart from `lock`.
pub fn outer(state: &ThreadState, lock: usize) -> Option<Outer> {
    let (lock, row) = state.held.newest_other(lock)?;
    // SAFETY: the rows of the locks that the thread holds are its own.
    Some(Outer { lock, stack: unsafe { (*row).stack } })
}

/// Notes the innermost other lock that the thread holds while it acquires the row's lock. The
/// acquisition counts `weight` times in the sums.
///
/// # Safety
/// The state is this thread's own, and so is the row, which is the acquisition's.
pub unsafe fn look(state: &ThreadState, row: *mut Row, weight: u32) {
    // SAFETY: by this function's own condition.
    unsafe { note(state, row, weight, outer(state, (*row).lock as usize)) }
}

/// Notes the lock that was already held when the row's lock was acquired; `None` if there was none.
/// The acquisition counts `weight` times in the sums.
///
/// # Safety
/// Same requirements as [`look`].
pub unsafe fn note(state: &ThreadState, row: *mut Row, weight: u32, outer: Option<Outer>) {
    // SAFETY: by this function's own condition.
    unsafe {
        if (*row).nest == 0 && outer.is_none() {
            return;
        }
        let is_first = (*row).nest == 0;
        let before = if is_first { looked_at(state, row) } else { 0 };
        let Some(nest) = records::nest_of(state, row) else { return };
        if is_first {
            (*nest).alone = before;
        }
        let Some(outer) = outer else {
            (*nest).alone = (*nest).alone.saturating_add(weight);
            return;
        };
        let Outer { lock, stack } = outer;
        let locks = &mut (*nest).locks;
        match locks.iter_mut().find(|nest| nest.lock == lock || nest.lock == 0) {
            Some(place) if place.lock == lock => place.seen = place.seen.saturating_add(weight),
            Some(place) => *place = Nest { lock, stack, seen: weight },
            None => (*nest).others = (*nest).others.saturating_add(weight),
        }
    }
}

/// The sum of the weights of a row's acquisitions that have been sampled: those whose hold was
/// timed.
unsafe fn looked_at(state: &ThreadState, row: *mut Row) -> u32 {
    // SAFETY: the state and the row are the calling thread's own.
    unsafe {
        let waited = match (*row).wait {
            0 => 0,
            _ => records::waits_of(state, row).map_or(0, |waits| (*waits).held_samples),
        };
        (*row).held_samples.saturating_add(u32::try_from(waited).unwrap_or(u32::MAX))
    }
}
