//! A thread's log: its events in the file, as many as fit.
//!
//! It begins with a page, since most threads wait rarely, and grows by eight times until it has
//! the size that the recording asks for. All logs together take no more than a share of the file,
//! so that rows always find room; where that is used up, logs stay as large as they are.
//!
//! A full log is thinned: what lies between windows of time is forgotten ([`Windows`]), and from
//! then on not logged. So a log tells of the whole run, however long that is, and at least a
//! quarter of its places stay in use.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering, compiler_fence};

use syncline_recording::Windows;
use syncline_recording::layout::{EventRecord, UNIT};

use crate::options;
use crate::recorder::{self, Recorder};
use crate::thread::ThreadState;

/// Places of a new log, log 2: one page.
const FIRST_LOG2: u32 = 7;
/// By how much a log grows, log 2.
const STEP_LOG2: u32 = 3;
/// Places of a full log, log 2: where it holds waits only, and where it holds all. The first is
/// half a megabyte.
const WAITS_LOG2: u32 = 14;
const ALL_LOG2: u32 = 18;
/// The share of the file that logs may take: where they hold waits only, and where they hold all.
const WAITS_SHARE: u64 = 4;
const ALL_SHARE: u64 = 2;

/// Goes on with the log that the record's earlier thread left, if there was one.
///
/// # Safety
/// The state is this thread's own, and so is its record.
pub unsafe fn go_on(recorder: &Recorder, state: &ThreadState) {
    // SAFETY: by this function's own condition.
    let (word, windows) = unsafe { ((*state.record.get()).log, (*state.record.get()).log_windows) };
    state.log_windows.set(Windows::from_word(windows).unwrap_or(Windows::ALL));
    if word == 0 {
        state.log.set(null_mut());
        state.log_places.set(0);
    } else {
        state.log.set(recorder.file().unit(word & 0xffff_ffff_ffff).cast());
        state.log_places.set(1 << (word >> 48));
    }
}

/// Adds an event to the calling thread's log, if it belongs to a window. Without room the event
/// is lost.
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
        let record = state.record.get();
        claim(&raw mut (*record).logged);
        let kept = &raw mut (*record).log_kept;
        // A handler may not exchange or move what the thread is about to write to.
        if *kept >= state.log_places.get() && !interrupted {
            grow(state);
            if *kept >= state.log_places.get() {
                thin(state, event.ended);
            }
        }
        if state.log_windows.get().keep(event.began, event.ended) {
            let place = claim(kept);
            if place < state.log_places.get() {
                write(state, place, event);
            }
        }
    }
    if !interrupted {
        compiler_fence(Ordering::SeqCst);
        state.logging.store(0, Ordering::Relaxed);
    }
}

/// Fills a place in. It holds no event from before that until all of it is there.
///
/// # Safety
/// The place is within the log, which is this thread's own.
unsafe fn write(state: &ThreadState, place: u64, event: EventRecord) {
    // SAFETY: by this function's own condition.
    unsafe {
        let to = state.log.get().add(place as usize);
        let kind = AtomicU8::from_ptr(&raw mut (*to).kind);
        kind.store(0, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        to.write(EventRecord { kind: 0, ..event });
        // Readers of the file take events with a kind: Release.
        kind.store(event.kind, Ordering::Release);
    }
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

/// Forgets what lies between coarser windows, until half of the log is free. A handler that
/// comes meanwhile finds the log full, and loses its events.
///
/// # Safety
/// As of [`add`]; and the log is full.
#[cold]
unsafe fn thin(state: &ThreadState, now: u64) {
    let places = state.log_places.get();
    let Some(recorder) = recorder::existing().filter(|_| places > 0) else { return };
    // SAFETY: the header is mapped, and this field is not written any more. The record and the
    // places of the log are this thread's own.
    unsafe {
        let record = state.record.get();
        let elapsed = now.saturating_sub((*recorder.header()).started);
        let event = |place: u64| state.log.get().add(place as usize);
        let stays = |windows: Windows, place| {
            let EventRecord { began, ended, kind, .. } = event(place).read();
            kind != 0 && windows.keep(began, ended)
        };
        let mut windows = state.log_windows.get();
        loop {
            let coarser = windows.coarser(elapsed);
            let last = coarser == windows;
            windows = coarser;
            if last
                || (0..places).filter(|&place| stays(windows, place)).count() as u64 <= places / 2
            {
                break;
            }
        }
        let thinned = AtomicU64::from_ptr(&raw mut (*record).log_thinned);
        // A reader that sees another number afterwards, or an odd one, reads again. Whoever
        // comes after a kill finds the coarser windows in any case, and events in order.
        thinned.store(thinned.load(Ordering::Relaxed) + 1, Ordering::Release);
        AtomicU64::from_ptr(&raw mut (*record).log_windows)
            .store(windows.word(), Ordering::Release);
        state.log_windows.set(windows);
        let mut kept = 0;
        for place in 0..places {
            if !stays(windows, place) {
                continue;
            }
            if place != kept {
                let moved = event(place).read();
                AtomicU8::from_ptr(&raw mut (*event(place)).kind).store(0, Ordering::Release);
                write(state, kept, moved);
            }
            kept += 1;
        }
        AtomicU64::from_ptr(&raw mut (*record).log_kept).store(kept, Ordering::Release);
        thinned.store(thinned.load(Ordering::Relaxed) + 1, Ordering::Release);
    }
}

/// Gives the thread its first log, or a larger one if it has less than a full one.
///
/// # Safety
/// As of [`add`]; and the log is full.
#[cold]
unsafe fn grow(state: &ThreadState) {
    let old = state.log.get();
    let places = state.log_places.get();
    let full = if options::timeline() { ALL_LOG2 } else { WAITS_LOG2 };
    let log2 = if old.is_null() { FIRST_LOG2 } else { (places.ilog2() + STEP_LOG2).min(full) };
    let Some(recorder) = recorder::existing() else { return };
    if 1 << log2 == places || recorder.file().is_full() {
        return;
    }
    let Some(unit) = claim_room(recorder, log2, places) else { return };
    let new = recorder.file().unit(unit).cast::<EventRecord>();
    // SAFETY: both logs are this thread's own, and the new one is larger, zeroed and real.
    unsafe {
        core::ptr::copy_nonoverlapping(old, new, places as usize);
        let record = state.record.get();
        // Events that found no place in the old log are not in the new one.
        AtomicU64::from_ptr(&raw mut (*record).log_kept).store(places, Ordering::Relaxed);
        state.log.set(new);
        state.log_places.set(1 << log2);
        let word = AtomicU64::from_ptr(&raw mut (*record).log);
        // Readers of the file follow this word to the events copied above: Release.
        word.store(u64::from(log2) << 48 | unit, Ordering::Release);
        if places > 0 {
            recorder.file().give_back(&recorder.shelf, old.cast(), rows_log2(places.ilog2()));
        }
    }
}

/// Room for a log, by its first unit; none if logs have had their share, or there is no room.
fn claim_room(recorder: &Recorder, log2: u32, places_before: u64) -> Option<u64> {
    const EVENT: u64 = size_of::<EventRecord>() as u64;
    let share = if options::timeline() { ALL_SHARE } else { WAITS_SHARE };
    // SAFETY: the header is mapped, and this field is not written any more.
    let limit = unsafe { (*recorder.header()).arena_capacity } * UNIT / share;
    let more = (EVENT << log2) - EVENT * places_before;
    let claim = |used: u64| Some(used + more).filter(|&used| used <= limit);
    recorder
        .file()
        .family()
        .log_bytes
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, claim)
        .ok()?;
    let unit = recorder.file().new_table(&recorder.shelf, rows_log2(log2));
    if unit.is_none() {
        recorder.file().family().log_bytes.fetch_sub(more, Ordering::Relaxed);
    }
    unit
}

/// The table of rows that takes as much room as a log: a row is two events.
fn rows_log2(log2: u32) -> u32 {
    log2 - 1
}
