//! Measures how long a lock is held, and for how long its holder is on a processor meanwhile.
//!
//! Measuring the holder's time on a processor takes system calls, so not every hold is measured.
//! Holds after a long wait are measured, and some of those after a short wait. If the holds of a
//! row are brief, only few of them are measured, since the system calls would make a brief hold
//! many times as long. After an acquisition that did not wait, a timed hold is measured if the
//! holds of its row are long, because the holder can't have slept in a short hold. So a call site
//! with short holds and no waits makes no such system call.

use syncline_recording::layout::{EVENT_HOLD, EventRecord, NOBODY, Row, WaitRecord};

use crate::count::nest;
use crate::thread::held::Hold;
use crate::thread::usage::Usage;
use crate::thread::{ThreadState, records};
use crate::{clock, options, thread};

/// A hold after a wait of more than this length, in microseconds, is measured unless the row's
/// holds are brief: the two measurements, at the beginning and the end of the hold, take less than
/// a hundredth of the wait.
const LONG_WAIT: u64 = 50;
/// One in this many holds after shorter waits is measured.
const AFTER_SHORT_WAITS: u64 = 8;
/// The number of holds after waits by which a row is judged: if they were brief on average, the
/// next ones are expected to be brief too.
const AT_FIRST: u64 = 16;
/// One in this many brief holds after waits is measured. (Holds of locks that can't be tried are
/// measured as if they were not brief.)
const AMONG_BRIEF: u64 = 64;
/// Holds without a wait are measured if they take longer than this on average, in microseconds: the
/// two measurements take at most a twentieth of such a hold. Holds after waits are brief if they
/// take less than this on average.
const LONG_HOLD: u64 = 10;

/// Notes a lock as held after an acquisition that did not wait and is timed. The hold counts
/// `weight` times in the sums.
///
/// # Safety
/// The state is this thread's own, and so is the row, which is the acquisition's.
#[inline(never)]
pub unsafe fn begin(state: &ThreadState, lock: usize, row: *mut Row, weight: u32) {
    // SAFETY: by this function's own condition.
    unsafe {
        nest::look(state, row, weight);
        let used = are_long(&*row).then(Usage::from_here);
        let since = used.map_or_else(clock::now, |used| used.at);
        state.held.push(Hold { since: Some(since), weight, used, ..Hold::untimed(lock, row) });
    }
}

/// Notes a lock as held after a wait from `began` to `ended`.
///
/// # Safety
/// Same requirements as [`begin`].
pub unsafe fn begin_after_wait(state: &ThreadState, row: *mut Row, began: u64, ended: u64) {
    // SAFETY: by this function's own condition.
    unsafe {
        nest::look(state, row, 1);
        // The lock is noted before anything is measured: other threads may already wait for the
        // lock.
        let hold = Hold::untimed((*row).lock as usize, row);
        state.held.push(Hold { since: Some(ended), waited: true, ..hold });
        let before = measured(state, row).map_or(0, |waits| waits.held_samples);
        let is_long = ended - began > clock::microseconds(LONG_WAIT);
        if is_long || before.is_multiple_of(AFTER_SHORT_WAITS) {
            let used = Usage::from_here();
            state.held.look_at_newest(used);
            // If the process is killed, nothing else records the processor time of a living thread.
            let record = state.record.get();
            (*record).seen_cpu_ns = used.cpu;
            (*record).seen_cpu_at = used.at;
        }
    }
}

/// Whether the next hold of a row, after a wait, is expected to be so short that the wait should be
/// counted only when the hold is over. False for one in [`AMONG_BRIEF`] such holds, which is
/// measured.
///
/// # Safety
/// The state and the row are this thread's own.
pub unsafe fn is_brief(state: &ThreadState, row: *mut Row) -> bool {
    // SAFETY: by this function's own condition.
    unsafe { measured(state, row) }.is_some_and(|waits| {
        let samples = waits.held_samples;
        samples >= AT_FIRST
            && !samples.is_multiple_of(AMONG_BRIEF)
            && waits.held_ticks < samples * clock::microseconds(LONG_HOLD)
    })
}

/// The record of a row's waits, if it has one already.
///
/// # Safety
/// Same requirements as [`is_brief`].
unsafe fn measured(state: &ThreadState, row: *mut Row) -> Option<&WaitRecord> {
    // SAFETY: by this function's own condition; the record has one writer, this thread.
    unsafe {
        if (*row).wait == 0 { None } else { records::waits_of(state, row).map(|waits| &*waits) }
    }
}

/// Microseconds. Counting takes less time than this: a longer time means that the thread lost its
/// processor.
const COUNTING: u64 = 50;

/// Lets the hold of a lock begin now. Called just before the program goes on, when the wait for the
/// lock has been counted. The wait ended at `ended`, and the time since then was the recorder's
/// own.
///
/// # Safety
/// The row is this thread's own, or null.
pub unsafe fn counted(row: *mut Row, ended: u64) {
    let Some(state) = thread::state().filter(|_| !row.is_null()) else { return };
    let now = clock::now();
    // SAFETY: by this function's own condition; a row comes with its thread's state.
    unsafe {
        let lock = (*row).lock as usize;
        state.held.count_newest_from(lock, now);
        add_own(state, row, now.saturating_sub(ended));
    }
}

/// Adds to the time that the recorder itself took while locks of a row were held.
///
/// # Safety
/// The state and the row are this thread's own.
unsafe fn add_own(state: &ThreadState, row: *mut Row, ticks: u64) {
    if ticks >= clock::microseconds(COUNTING) {
        return;
    }
    // SAFETY: by this function's own condition; a wait record has one writer.
    unsafe {
        if let Some(waits) = records::waits_of(state, row) {
            (*waits).own_ticks += ticks;
        }
    }
}

/// Whether the holds of a row take long. The longest one is left out: its holder may have been
/// preempted.
fn are_long(row: &Row) -> bool {
    let samples = u64::from(row.held_samples);
    let others = row.held_ticks.saturating_sub(row.held_max);
    samples > 1 && others > (samples - 1) * clock::microseconds(LONG_HOLD)
}

/// The end of a hold that was timed.
#[derive(Clone, Copy)]
pub struct Ended {
    /// When it ended, in ticks.
    at: u64,
    /// What the holder used meanwhile, if that was measured.
    used: Option<Usage>,
}

/// Takes the time of a hold that is about to end; `None` if it was not timed.
pub fn ending(state: &ThreadState, hold: &Hold) -> Option<Ended> {
    hold.since?;
    let at = clock::now();
    let used = hold.used.map(|before| Usage::until(at).since(before));
    if used.is_some() && hold.waited {
        // SAFETY: the state and the row are this thread's own.
        unsafe { add_own(state, hold.row, clock::now().saturating_sub(at)) };
    }
    Some(Ended { at, used })
}

/// Counts a hold that has ended, if it was timed.
#[inline(never)]
pub fn end(state: &ThreadState, hold: &Hold, Ended { at: now, used }: Ended) {
    let Some(since) = hold.since else { return };
    let ticks = now.saturating_sub(since);
    // SAFETY: state, row and record are this thread's own.
    unsafe {
        let row = hold.row;
        if !hold.waited {
            // The holder may have been preempted in a new longest hold. So its excess over the old
            // longest one is counted only once, whatever the weight.
            let longer = ticks.saturating_sub((*row).held_max);
            (*row).held_ticks += (ticks - longer) * u64::from(hold.weight) + longer;
            (*row).held_max += longer;
            (*row).held_samples = (*row).held_samples.saturating_add(hold.weight);
        } else if let Some(waits) = records::waits_of(state, row) {
            (*waits).held_ticks += ticks;
            (*waits).held_max = (*waits).held_max.max(ticks);
            (*waits).held_samples += 1;
        }
        if let Some(used) = used
            && let Some(waits) = records::waits_of(state, row)
        {
            (*waits).held_looked_at += 1;
            (*waits).held_looked_at_ticks += used.at;
            (*waits).held_off_cpu_ticks += used.off_cpu();
            let add = |sum: &mut u32, more: u64| {
                *sum = sum.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
            };
            add(&mut (*waits).held_slept, used.slept);
            add(&mut (*waits).held_preempted, used.preempted);
        }
        (*state.record.get()).last_seen = now;
        log_end(state, hold, now);
    }
}

/// Logs that a lock was held until now, if holds are logged.
pub fn log_end(state: &ThreadState, hold: &Hold, now: u64) {
    if !options::timeline() {
        return;
    }
    let resumed = hold.resumed.map(|resumed| resumed.at);
    let Some(began) = resumed.or(hold.since) else { return };
    // SAFETY: the state and the row are this thread's own.
    unsafe {
        let row = hold.row;
        let event = EventRecord {
            began,
            ended: now,
            lock: hold.lock as u64,
            stack: (*row).stack,
            who: NOBODY,
            op: (*row).key as u8,
            kind: EVENT_HOLD,
        };
        records::log(state, event);
    }
}
