//! Finds the records of a row: its waits, and the locks that were already held. Writes the thread's
//! log.

use syncline_recording::layout::{EventRecord, NestRecord, Row, WaitRecord};

use crate::recorder::{self, Recorder};
use crate::thread::ThreadState;

/// The wait record of a row, which is made if there is none. `None` if there is no room, if
/// recording has ended, or if the caller is a signal handler that interrupted the recorder.
///
/// # Safety
/// `state` and `row` are this thread's own.
#[inline(never)]
pub unsafe fn waits_of(state: &ThreadState, row: *mut Row) -> Option<*mut WaitRecord> {
    // SAFETY: by this function's own condition.
    unsafe { record_of(state, &raw mut (*row).wait) }
}

/// The nest record of a row, which is made if there is none. `None` in the cases of [`waits_of`].
///
/// # Safety
/// Same requirement as [`waits_of`].
#[inline(never)]
pub unsafe fn nest_of(state: &ThreadState, row: *mut Row) -> Option<*mut NestRecord> {
    // SAFETY: by this function's own condition.
    unsafe { record_of(state, &raw mut (*row).nest) }
}

/// The record whose unit number is in this word of a row. The record is made if the word is 0.
unsafe fn record_of<T>(state: &ThreadState, word: *mut u32) -> Option<*mut T> {
    let file = recorder::existing()?.file();
    // SAFETY: this thread's own state and row.
    unsafe {
        if *word == 0 {
            let _guard = state.busy.set()?;
            *word = state.tail.next::<T>(file)?;
        }
        Some(file.unit(u64::from(*word)).cast())
    }
}

/// Adds an event to the thread's log.
///
/// # Safety
/// The state is this thread's own.
pub unsafe fn log(state: &ThreadState, event: EventRecord) {
    // SAFETY: by this function's own condition.
    unsafe { state.log.add(state.record.get(), event, || recorder::existing().map(Recorder::room)) }
}
