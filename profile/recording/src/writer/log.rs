//! The log of a thread: its events in the file, as many as fit.
//!
//! A log begins with one page, since most threads wait rarely. When it is full, it becomes up to
//! eight times as large, until it has its full size. All logs together take at most a certain share
//! of the file, so that there is always room for rows. When this share is used up, logs do not grow
//! any more.
//!
//! If a full log can't grow, it is thinned: events outside of certain windows of time ([`Windows`])
//! are dropped, and no longer logged. So a log covers the whole run, however long that is. Usually
//! at least a quarter of its slots stay in use.
//!
//! If a run is recorded in windows (`record --every`), a command reads the logs at the end of each
//! window ([`Header::window`](crate::layout::Header::window)), and a log begins anew with the first
//! event after that.

use core::cell::Cell;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, compiler_fence};

use syncline_interpose::Mark;

use super::counter::claim;
use super::file::File;
use super::room::Room;
use crate::layout::{EventRecord, ThreadRecord, UNIT};
use crate::windows::Windows;

/// Log 2 of the number of slots in a new log, which has one page.
const FIRST_LOG2: u32 = 7;
/// Log 2 of the factor by which a log grows.
const STEP_LOG2: u32 = 3;
/// Log 2 of the number of slots in a log of full size if logs have only waits: half a megabyte.
/// [`ALL_LOG2`] is used instead if logs have every acquisition.
const WAITS_LOG2: u32 = 14;
const ALL_LOG2: u32 = 18;
/// If logs have only waits, all logs together take at most the file's arena divided by this.
/// [`ALL_SHARE`] is used instead if logs have every acquisition.
const WAITS_SHARE: u64 = 4;
const ALL_SHARE: u64 = 2;

/// Where a thread's log is, and which events it keeps. All zero means no log. [`Log::take_over`]
/// must be called before the first event.
#[repr(C)]
pub struct Log {
    /// The log's first event, in the file; null while the thread has no log.
    first: Cell<*mut EventRecord>,
    slots: Cell<u64>,
    windows: Cell<Windows>,
    /// Set while the log is being used, so that a signal handler that runs meanwhile does not
    /// exchange it.
    busy: Mark,
    /// The word in the file that counts how often the logs were taken.
    taken: Cell<*mut u32>,
    window: Cell<u32>,
}

impl Log {
    /// Continues the log that an earlier thread of the record has left, if there was one.
    ///
    /// # Safety
    /// The log and the record are this thread's own.
    pub unsafe fn take_over(&self, file: &File, record: *mut ThreadRecord) {
        // SAFETY: by this function's own condition.
        let (word, windows, window) =
            unsafe { ((*record).log, (*record).log_windows, (*record).log_window) };
        self.taken.set(file.window().0);
        self.window.set(window);
        self.busy.clear();
        self.windows.set(Windows::from_word(windows).unwrap_or(Windows::ALL));
        if word == 0 {
            self.first.set(null_mut());
            self.slots.set(0);
        } else {
            self.first.set(file.unit(word & 0xffff_ffff_ffff).cast());
            self.slots.set(1 << (word >> 48));
        }
    }

    /// Adds an event, if it lies in a window. If there is no slot for it, the event is lost. `room`
    /// is called only if the log is full.
    ///
    /// # Safety
    /// The log and the record are this thread's own.
    #[inline]
    pub unsafe fn add<'a>(
        &self,
        record: *mut ThreadRecord,
        event: EventRecord,
        room: impl FnOnce() -> Option<Room<'a>>,
    ) {
        let marked = self.busy.set();
        let interrupted = marked.is_none();
        // SAFETY: by this function's own condition.
        unsafe {
            // Acquire pairs with the writes of the command. It first writes when it took the logs,
            // and then how often.
            let window = AtomicU32::from_ptr(self.taken.get()).load(Ordering::Acquire);
            if window != self.window.get() && !interrupted {
                self.begin_anew(record, window);
            }
            claim(&raw mut (*record).logged);
            let kept = &raw mut (*record).log_kept;
            // A handler must not exchange the log, or move events in it, while the thread that it
            // interrupted writes to a slot.
            if *kept >= self.slots.get() && !interrupted {
                self.make_room(record, event.ended, room());
            }
            if self.windows.get().keep(event.began, event.ended) {
                let slot = claim(kept);
                if slot < self.slots.get() {
                    self.write(slot, event);
                }
            }
        }
    }

    /// Begins the log anew: forgets all events, because a command has read them.
    ///
    /// # Safety
    /// Same requirements as [`Log::add`].
    #[cold]
    unsafe fn begin_anew(&self, record: *mut ThreadRecord, window: u32) {
        // SAFETY: by this function's own condition. (As in `thin`, `log_thinned` tells readers of
        // the change.)
        unsafe {
            let thinned = AtomicU64::from_ptr(&raw mut (*record).log_thinned);
            thinned.store(thinned.load(Ordering::Relaxed) + 1, Ordering::Release);
            AtomicU64::from_ptr(&raw mut (*record).log_kept).store(0, Ordering::Release);
            AtomicU64::from_ptr(&raw mut (*record).log_windows)
                .store(Windows::ALL.word(), Ordering::Release);
            AtomicU32::from_ptr(&raw mut (*record).log_window).store(window, Ordering::Release);
            thinned.store(thinned.load(Ordering::Relaxed) + 1, Ordering::Release);
        }
        self.windows.set(Windows::ALL);
        self.window.set(window);
    }

    /// Makes a full log larger or, if that is not possible, thins it.
    ///
    /// # Safety
    /// Same requirements as [`Log::add`], and the log is full.
    #[cold]
    unsafe fn make_room(&self, record: *mut ThreadRecord, now: u64, room: Option<Room<'_>>) {
        let Some(room) = room else { return };
        // SAFETY: by this function's own condition.
        unsafe {
            self.grow(record, room);
            if (*record).log_kept >= self.slots.get() {
                self.thin(record, room.file, now);
            }
        }
    }

    /// Fills a slot in. The slot's kind is 0 until the rest of the event is written; readers skip
    /// such a slot.
    ///
    /// # Safety
    /// The slot is within the log, which is this thread's own.
    unsafe fn write(&self, slot: u64, event: EventRecord) {
        // SAFETY: by this function's own condition.
        unsafe {
            let to = self.first.get().add(slot as usize);
            let kind = AtomicU8::from_ptr(&raw mut (*to).kind);
            kind.store(0, Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            to.write(EventRecord { kind: 0, ..event });
            // Release: a reader of the file that finds a kind finds all of the event.
            kind.store(event.kind, Ordering::Release);
        }
    }

    /// Makes the windows coarser and drops the events outside of them, until half of the log is
    /// free or the windows can't be coarser. A handler that runs meanwhile finds the log full, and
    /// its events are lost.
    ///
    /// # Safety
    /// Same requirements as [`Log::make_room`].
    unsafe fn thin(&self, record: *mut ThreadRecord, file: &File, now: u64) {
        let slots = self.slots.get();
        if slots == 0 {
            return;
        }
        // SAFETY: the header is mapped, and this field does not change any more. The record and the
        // slots of the log are this thread's own.
        unsafe {
            let taken = AtomicU64::from_ptr(file.window().1).load(Ordering::Relaxed);
            let elapsed = now.saturating_sub((*file.header()).started.max(taken));
            let event = |slot: u64| self.first.get().add(slot as usize);
            let stays = |windows: Windows, slot| {
                let EventRecord { began, ended, kind, .. } = event(slot).read();
                kind != 0 && windows.keep(began, ended)
            };
            let mut windows = self.windows.get();
            loop {
                let coarser = windows.coarser(elapsed);
                let last = coarser == windows;
                windows = coarser;
                if last
                    || (0..slots).filter(|&slot| stays(windows, slot)).count() as u64 <= slots / 2
                {
                    break;
                }
            }
            let thinned = AtomicU64::from_ptr(&raw mut (*record).log_thinned);
            // If this number is odd, or has changed after the reading, a reader reads the log
            // again. If the process is killed here, a reader finds the coarser windows in any case,
            // and the events in order.
            thinned.store(thinned.load(Ordering::Relaxed) + 1, Ordering::Release);
            AtomicU64::from_ptr(&raw mut (*record).log_windows)
                .store(windows.word(), Ordering::Release);
            self.windows.set(windows);
            let mut kept = 0;
            for slot in 0..slots {
                if !stays(windows, slot) {
                    continue;
                }
                if slot != kept {
                    let moved = event(slot).read();
                    AtomicU8::from_ptr(&raw mut (*event(slot)).kind).store(0, Ordering::Release);
                    self.write(kept, moved);
                }
                kept += 1;
            }
            AtomicU64::from_ptr(&raw mut (*record).log_kept).store(kept, Ordering::Release);
            thinned.store(thinned.load(Ordering::Relaxed) + 1, Ordering::Release);
        }
    }

    /// Gives the thread its first log, or a larger one unless it has its full size.
    ///
    /// # Safety
    /// Same requirements as [`Log::make_room`].
    unsafe fn grow(&self, record: *mut ThreadRecord, room: Room<'_>) {
        let old = self.first.get();
        let slots = self.slots.get();
        let full = if has_all(room.file) { ALL_LOG2 } else { WAITS_LOG2 };
        let log2 = if old.is_null() { FIRST_LOG2 } else { (slots.ilog2() + STEP_LOG2).min(full) };
        if 1 << log2 == slots || room.file.is_full() {
            return;
        }
        let Some(unit) = claim_room(room, log2, slots) else { return };
        let new = room.file.unit(unit).cast::<EventRecord>();
        // SAFETY: both logs are this thread's own. The new one is larger and zero, and has disk
        // space.
        unsafe {
            core::ptr::copy_nonoverlapping(old, new, slots as usize);
            // The number does not include events that found no slot in the old log, since they are
            // not in the new one either.
            AtomicU64::from_ptr(&raw mut (*record).log_kept).store(slots, Ordering::Relaxed);
            self.first.set(new);
            self.slots.set(1 << log2);
            let word = AtomicU64::from_ptr(&raw mut (*record).log);
            // Release: readers of the file find through this word the events that were copied
            // above.
            word.store(u64::from(log2) << 48 | unit, Ordering::Release);
            if slots > 0 {
                room.give_back(old.cast(), rows_log2(slots.ilog2()));
            }
        }
    }
}

/// Whether the file's logs have every acquisition.
fn has_all(file: &File) -> bool {
    // SAFETY: the header is mapped, and this field is not written any more.
    unsafe { (*file.header()).timeline != 0 }
}

/// Claims space for a log of 2 to the power of `log2` slots in place of one of `slots_before`.
/// Returns its first unit, or `None` if the logs have used up their share or there is no room.
fn claim_room(room: Room<'_>, log2: u32, slots_before: u64) -> Option<u64> {
    const EVENT: u64 = size_of::<EventRecord>() as u64;
    let share = if has_all(room.file) { ALL_SHARE } else { WAITS_SHARE };
    let limit = room.file.arena().1 * UNIT / share;
    let more = (EVENT << log2) - EVENT * slots_before;
    let claim = |used: u64| Some(used + more).filter(|&used| used <= limit);
    let log_bytes = &room.file.family().log_bytes;
    log_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, claim).ok()?;
    let unit = room.new_table(rows_log2(log2));
    if unit.is_none() {
        log_bytes.fetch_sub(more, Ordering::Relaxed);
    }
    unit
}

/// Log 2 of the number of rows in a table that is as large as a log of 2 to the power of `log2`
/// slots. (A row is as large as two events.)
fn rows_log2(log2: u32) -> u32 {
    log2 - 1
}
