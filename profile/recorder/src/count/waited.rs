//! Adds a wait that has ended to the thread's records.

use core::mem::offset_of;

use syncline_recording::layout::{EVENT_WAIT, EventRecord, Header, NOBODY, Row, SIGNAL, bucket};

use crate::count::holder::blame;
use crate::count::outcome::Outcome;
use crate::thread::held::Holder;
use crate::thread::{ThreadState, records};
use crate::{recorder, thread};

/// Adds a wait to a row's wait record.
///
/// # Safety
/// The row is this thread's own.
pub unsafe fn add(row: *mut Row, ticks: u64, holder: Option<Holder>, outcome: &Outcome) {
    // SAFETY: by this function's own condition; a wait record has one writer.
    unsafe {
        let Some(waits) = thread::state().and_then(|state| records::waits_of(state, row)) else {
            recorder::count(offset_of!(Header, dropped_waits));
            return;
        };
        (*waits).waits += 1;
        (*waits).ticks += ticks;
        (*waits).max = (*waits).max.max(ticks);
        (*waits).timeouts += u64::from(matches!(outcome, Outcome::TimedOut));
        let bucket = &raw mut (*waits).histogram[bucket(ticks)];
        *bucket = (*bucket).saturating_add(1);
        if let Some(holder) = holder {
            blame(waits, holder, ticks);
        }
    }
}

/// What ended a wait, as the log has it: [`SIGNAL`], the index of a thread, or [`NOBODY`].
fn ended_by(outcome: &Outcome, thread: Option<u32>) -> u16 {
    match outcome {
        Outcome::Interrupted => SIGNAL,
        _ => {
            let who = thread.and_then(|thread| u16::try_from(thread).ok());
            who.filter(|&who| who < SIGNAL).unwrap_or(NOBODY)
        }
    }
}

/// Adds a wait to the thread's log, with the ticks at which it began and ended, how it ended, and
/// the thread that ended it.
///
/// # Safety
/// The state and the row are this thread's own.
pub unsafe fn log(
    state: &ThreadState,
    row: *mut Row,
    (began, ended): (u64, u64),
    outcome: &Outcome,
    thread: Option<u32>,
) {
    // SAFETY: by this function's own condition.
    unsafe {
        let event = EventRecord {
            began,
            ended,
            lock: (*row).lock,
            stack: (*row).stack,
            who: ended_by(outcome, thread),
            op: (*row).key as u8,
            kind: EVENT_WAIT,
        };
        records::log(state, event);
    }
}
