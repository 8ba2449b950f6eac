//! Who woke a thread that waited for an event.
//!
//! Who is about to wake others says so in its own record; who was woken looks through the
//! records of the others for the latest that woke waiters of the same object. As with holders,
//! the price is paid by the one who waited.

use core::sync::atomic::{AtomicU64, Ordering};

use syncline_recording::Op;
use syncline_recording::layout::ThreadRecord;

use crate::recorder::{self, Recorder};
use crate::{clock, tls};

/// Threads that are looked at, the latest first: a microsecond's worth.
const LOOK_AT: u32 = 256;

/// Says that the calling thread is about to wake who waits for an object.
#[inline]
pub fn waking(object: usize) {
    let Some(state) = tls::state().filter(|state| state.is_attached()) else { return };
    state.notices.set(state.notices.get().wrapping_add(1));
    let record = state.record.get();
    // SAFETY: the record is this thread's own; others read both words whole. Release pairs with
    // the Acquire in `waker_of`: who finds the object finds a time that is no older.
    unsafe {
        AtomicU64::from_ptr(&raw mut (*record).notified_at).store(clock::now(), Ordering::Relaxed);
        AtomicU64::from_ptr(&raw mut (*record).notified).store(object as u64, Ordering::Release);
    }
}

/// Says that the calling thread has posted what nobody waited for.
#[inline]
pub fn waking_nobody() {
    if let Some(state) = tls::state() {
        state.notices.set(state.notices.get().wrapping_add(1));
    }
}

/// Index of the thread that ended a wait for an object, if that can be told.
pub fn waker_of(op: Op, object: usize, began: u64, ended: u64) -> Option<u32> {
    let recorder = recorder::existing()?;
    match op {
        Op::CondWait | Op::CondTimedwait | Op::SemWait | Op::SemTimedwait | Op::FutexWait => {
            latest_notice(recorder, object, began, ended)
        }
        Op::ThreadJoin => joined(recorder, object),
        _ => None,
    }
}

fn latest_notice(recorder: &Recorder, object: usize, began: u64, ended: u64) -> Option<u32> {
    let (count, region) = recorder.file().threads();
    let page = recorder.file().page();
    let notice = |index: u32| {
        let at = region.offset + u64::from(index) * size_of::<ThreadRecord>() as u64;
        let record = recorder.file().at(at).cast::<ThreadRecord>();
        // SAFETY: a record in use, whose words are read whole; see `waking`.
        let (process, notified, at) = unsafe {
            let notified = AtomicU64::from_ptr(&raw mut (*record).notified);
            let at = AtomicU64::from_ptr(&raw mut (*record).notified_at);
            ((*record).process, notified.load(Ordering::Acquire), at.load(Ordering::Relaxed))
        };
        // Another process of the file has other objects at the same addresses.
        (process == page && notified == object as u64 && (began..=ended).contains(&at))
            .then_some((at, index))
    };
    let latest = (0..count).rev().take(LOOK_AT as usize).filter_map(notice).max();
    latest.map(|(_, index)| index)
}

/// Index of a thread that was joined. Its state is still as it left it, unless another thread
/// has it by now.
fn joined(recorder: &Recorder, handle: usize) -> Option<u32> {
    let states = recorder.threads.used().iter();
    let same = states.filter(|state| state.handle.load(Ordering::Relaxed) == handle);
    // The C library gives a number again once its thread was joined: the latest is meant.
    same.map(|state| state.index.load(Ordering::Relaxed)).max()
}
