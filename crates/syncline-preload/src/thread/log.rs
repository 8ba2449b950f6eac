//! A thread's log: a ring of events in the file, of which the latest are kept.
//!
//! It begins with a page, since most threads wait rarely, and grows by eight times until it has
//! the size that the recording asks for. All logs together take no more than a share of the file,
//! so that rows always find room; where that is used up, rings stay as large as they are.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering, compiler_fence};

use syncline_recording::layout::{EventRecord, UNIT};

use crate::options;
use crate::recorder::{self, Recorder};
use crate::thread::ThreadState;

/// Places of a new ring, log 2: one page.
const FIRST_LOG2: u32 = 7;
/// By how much a ring grows, log 2.
const STEP_LOG2: u32 = 3;
/// Places of a full ring, log 2: where it holds waits only, and where it holds all. The first is
/// half a megabyte: the last second of a thread that waits 16,000 times in it.
const WAITS_LOG2: u32 = 14;
const ALL_LOG2: u32 = 18;
/// The share of the file that logs may take: where they hold waits only, and where they hold all.
const WAITS_SHARE: u64 = 4;
const ALL_SHARE: u64 = 2;

/// Goes on with the ring that the record's earlier thread left, if there was one.
///
/// # Safety
/// The state is this thread's own, and so is its record.
pub unsafe fn go_on(recorder: &Recorder, state: &ThreadState) {
    // SAFETY: by this function's own condition.
    let word = unsafe { (*state.record.get()).log };
    if word == 0 {
        state.log.set(null_mut());
        state.log_mask.set(0);
    } else {
        state.log.set(recorder.file().unit(word & 0xffff_ffff_ffff).cast());
        state.log_mask.set((1 << (word >> 48)) - 1);
    }
}

/// Adds an event to the calling thread's ring, in place of the oldest if it is full. Without
/// room for a ring the event is lost.
///
/// # Safety
/// The state is this thread's own, and so is its record.
pub unsafe fn add(state: &ThreadState, event: EventRecord) {
    let interrupted = state.logging.load(Ordering::Relaxed) != 0;
    state.logging.store(1, Ordering::Relaxed);
    // The only other party is a signal handler on this thread.
    compiler_fence(Ordering::SeqCst);
    // SAFETY: by this function's own condition.
    unsafe {
        let logged = &raw mut (*state.record.get()).logged;
        if *logged & state.log_mask.get() == 0 && !interrupted {
            grow(state, *logged);
        }
        if !state.log.get().is_null() {
            // The place holds no event from before it is claimed until it is filled in.
            kind(state, *logged).store(0, Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            let number = claim(logged);
            place(state, number).write(EventRecord { kind: 0, ..event });
            kind(state, number).store(event.kind, Ordering::Release);
        }
    }
    if !interrupted {
        compiler_fence(Ordering::SeqCst);
        state.logging.store(0, Ordering::Relaxed);
    }
}

/// Where the event with this number goes.
fn place(state: &ThreadState, number: u64) -> *mut EventRecord {
    // The mask keeps the place within the ring.
    state.log.get().wrapping_add((number & state.log_mask.get()) as usize)
}

/// The kind of the event with this number.
unsafe fn kind(state: &ThreadState, number: u64) -> &AtomicU8 {
    // SAFETY: the ring is there, and the place lies within it.
    unsafe { AtomicU8::from_ptr(&raw mut (*place(state, number)).kind) }
}

/// Adds one in a single instruction, which a signal handler can't divide. Returns what was there.
unsafe fn claim(counter: *mut u64) -> u64 {
    let mut one = 1u64;
    // SAFETY: the counter is this thread's own.
    unsafe {
        core::arch::asm!("xadd qword ptr [{0}], {1}", in(reg) counter, inout(reg) one, options(nostack));
    }
    one
}

/// Gives the thread its first ring, or a larger one if it has less than a full one.
///
/// # Safety
/// As of [`add`].
#[cold]
unsafe fn grow(state: &ThreadState, logged: u64) {
    let old = state.log.get();
    let places = if old.is_null() { 0 } else { state.log_mask.get() + 1 };
    let full = if options::timeline() { ALL_LOG2 } else { WAITS_LOG2 };
    let log2 = if old.is_null() { FIRST_LOG2 } else { (places.ilog2() + STEP_LOG2).min(full) };
    let Some(recorder) = recorder::existing() else { return };
    if 1 << log2 == places || recorder.file().is_full() {
        return;
    }
    let Some(unit) = claim_ring(recorder, log2, places) else { return };
    let ring = recorder.file().unit(unit).cast::<EventRecord>();
    let mask = (1u64 << log2) - 1;
    // SAFETY: both rings are this thread's own, the new one is zeroed and real, and the masks
    // keep the places within them.
    unsafe {
        for number in logged.saturating_sub(places)..logged {
            ring.add((number & mask) as usize).write(place(state, number).read());
        }
        state.log.set(ring);
        state.log_mask.set(mask);
        let word = AtomicU64::from_ptr(&raw mut (*state.record.get()).log);
        // Readers of the file follow this word to the events copied above: Release.
        word.store(u64::from(log2) << 48 | unit, Ordering::Release);
        if places > 0 {
            recorder.file().give_back(&recorder.shelf, old.cast(), rows_log2(places.ilog2()));
        }
    }
}

/// Room for a ring, by its first unit; none if logs have had their share, or there is no room.
fn claim_ring(recorder: &Recorder, log2: u32, places_before: u64) -> Option<u64> {
    const EVENT: u64 = size_of::<EventRecord>() as u64;
    let share = if options::timeline() { ALL_SHARE } else { WAITS_SHARE };
    // SAFETY: the header is mapped, and this field is not written any more.
    let limit = unsafe { (*recorder.header()).arena_capacity } * UNIT / share;
    let more = (EVENT << log2) - EVENT * places_before;
    let claim = |used: u64| Some(used + more).filter(|&used| used <= limit);
    recorder.log_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, claim).ok()?;
    let unit = recorder.file().new_table(&recorder.shelf, rows_log2(log2));
    if unit.is_none() {
        recorder.log_bytes.fetch_sub(more, Ordering::Relaxed);
    }
    unit
}

/// The table of rows that takes as much room as a ring: a row is two events.
fn rows_log2(log2: u32) -> u32 {
    log2 - 1
}
