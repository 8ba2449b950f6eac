//! Finds the thread that woke another, which waited for an event.
//!
//! A thread that is about to wake others says so in its own record. A woken thread searches the
//! others' records for the latest one that woke waiters of the same object. As with holders, the
//! search costs only the thread that waited.

use core::sync::atomic::{AtomicU64, Ordering};

use syncline_recording::Op;

use crate::recorder::{self, Recorder};
use crate::{clock, thread};

/// The number of threads that are searched, the latest ones first. This takes about a microsecond.
const LOOK_AT: u32 = 256;

/// Whether a thread that ends a wait of this operation says so in its record.
pub fn is_noticed(op: Op) -> bool {
    matches!(op, Op::CondWait | Op::CondTimedwait | Op::SemWait | Op::SemTimedwait | Op::FutexWait)
}

/// Notes that the calling thread is about to wake waiters of an object.
#[inline]
pub fn waking(object: usize) {
    let Some(state) = thread::state().filter(|state| state.is_attached()) else { return };
    state.notices.set(state.notices.get().wrapping_add(1));
    if !recorder::existing().is_some_and(|recorder| recorder.waiters.may_be_any(object)) {
        return;
    }
    let record = state.record.get();
    // SAFETY: the record is this thread's own; others read both words whole. Release pairs with the
    // Acquire in `latest_notice`: a thread that finds the object finds a time that is no older.
    unsafe {
        AtomicU64::from_ptr(&raw mut (*record).notified_at).store(clock::now(), Ordering::Relaxed);
        AtomicU64::from_ptr(&raw mut (*record).notified).store(object as u64, Ordering::Release);
    }
}

/// Notes that the calling thread is about to post an object for which no thread waits.
#[inline]
pub fn waking_nobody() {
    if let Some(state) = thread::state() {
        state.notices.set(state.notices.get().wrapping_add(1));
    }
}

/// Index of the thread that ended a wait for an object; `None` if it is not found.
pub fn waker_of(op: Op, object: usize, began: u64, ended: u64) -> Option<u32> {
    let recorder = recorder::existing()?;
    match op {
        op if is_noticed(op) => latest_notice(recorder, object, began, ended),
        Op::ThreadJoin => joined(object),
        _ => None,
    }
}

fn latest_notice(recorder: &Recorder, object: usize, began: u64, ended: u64) -> Option<u32> {
    let file = recorder.file();
    let ((count, _), page) = (file.threads(), file.page());
    let notice = |index: u32| {
        let record = file.thread_record(index);
        // SAFETY: a record in use, whose words are read whole; see `waking`.
        let (process, notified, at) = unsafe {
            let notified = AtomicU64::from_ptr(&raw mut (*record).notified);
            let at = AtomicU64::from_ptr(&raw mut (*record).notified_at);
            ((*record).process, notified.load(Ordering::Acquire), at.load(Ordering::Relaxed))
        };
        // Another process of the file may have other objects at the same addresses.
        (process == page && notified == object as u64 && (began..=ended).contains(&at))
            .then_some((at, index))
    };
    let latest = (0..count).rev().take(LOOK_AT as usize).filter_map(notice).max();
    latest.map(|(_, index)| index)
}

/// Index of the thread with this handle, which may have ended. Its state is still as the thread left
/// it, unless another thread has taken the state since.
pub fn joined(handle: usize) -> Option<u32> {
    let states = recorder::existing()?.threads.used().iter();
    let same = states.filter(|state| state.handle.load(Ordering::Relaxed) == handle);
    // The C library reuses a handle after its thread was joined, so the latest thread with it
    // counts.
    same.map(|state| state.index.load(Ordering::Relaxed)).max()
}
