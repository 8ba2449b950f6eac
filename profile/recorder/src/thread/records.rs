//! What hangs on a row: its waits, and the locks that were held already.

use syncline_recording::layout::{NestRecord, Row, UNIT, WaitRecord};

use crate::recorder;
use crate::thread::ThreadState;
use crate::thread::busy::Busy;

/// The wait record of a row, made if there is none; none if there is no room, or this is a
/// signal handler that interrupted the recorder.
///
/// # Safety
/// `state` and `row` are this thread's own.
pub unsafe fn waits_of(state: &ThreadState, row: *mut Row) -> Option<*mut WaitRecord> {
    // SAFETY: by this function's own condition.
    unsafe { record_of(state, &raw mut (*row).wait) }
}

/// The nest record of a row, as [`waits_of`].
///
/// # Safety
/// As of [`waits_of`].
pub unsafe fn nest_of(state: &ThreadState, row: *mut Row) -> Option<*mut NestRecord> {
    // SAFETY: by this function's own condition.
    unsafe { record_of(state, &raw mut (*row).nest) }
}

/// The record whose unit a word of a row has, made if that is 0.
unsafe fn record_of<T>(state: &ThreadState, word: *mut u32) -> Option<*mut T> {
    const PAGE: u64 = 4096;
    let size = size_of::<T>() as u64;
    let recorder = recorder::existing()?;
    // SAFETY: this thread's own state and row.
    unsafe {
        if *word == 0 {
            let _guard = Busy::enter(state)?;
            if state.next_record.get() + size > state.end_of_records.get() {
                let unit = recorder.file().new_pages(PAGE)?;
                state.next_record.set(unit * UNIT);
                state.end_of_records.set(unit * UNIT + PAGE);
            }
            *word = (state.next_record.get() / UNIT) as u32;
            state.next_record.set(state.next_record.get() + size);
        }
        Some(recorder.file().unit(u64::from(*word)).cast())
    }
}
