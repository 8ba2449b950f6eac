//! How a thread gets its state and its record, and gives them back.
//!
//! The end of a thread is seen by the destructor of a thread-specific key, which runs
//! however the thread ends: return, `pthread_exit`, cancellation. Other destructors may
//! still use locks after it, so it asks to run again, as often as POSIX allows, and gives
//! up the state only then.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

use rustix::process::getpid;
use rustix::thread::gettid;
use rustix::time::ClockId;
use syncline_interpose::preserving_errno;
use syncline_recording::layout::{THREAD_EXITED, THREAD_RUNNING, ThreadRecord};

use crate::recorder::{self, Recorder};
use crate::thread::table::{LOCKS, PLACES};
use crate::thread::{Start, ThreadState, log, table, usage};
use crate::{clock, tls};

/// `PTHREAD_DESTRUCTOR_ITERATIONS` of the C library.
const DESTRUCTOR_RUNS: u32 = 4;

/// Records that a process gets.
const RECORDS: u32 = 4096;

/// The state of this thread, if it has one.
#[inline(always)]
fn attached() -> Option<&'static ThreadState> {
    tls::state().filter(|state| state.is_attached())
}

/// Gives this thread its state, if it has none: to be called before a lock is tried, so that all
/// that a process and a thread need is made while the thread does not have that lock yet.
#[inline(always)]
pub fn before_trying() {
    if attached().is_none() {
        unseen();
    }
}

/// The state of this thread, given to it now if it has none; none if it can't be recorded, and
/// then its operation is counted as one that was not.
#[inline]
pub fn current() -> Option<&'static ThreadState> {
    attached().or_else(|| {
        let state = unseen();
        if state.is_none() {
            recorder::count_missed();
        }
        state
    })
}

/// A thread that nobody saw created, or that forked, or the first one.
#[cold]
#[inline(never)]
fn unseen() -> Option<&'static ThreadState> {
    preserving_errno(|| {
        let recorder = recorder::get()?;
        let state = if tls::finished() == 0 { recorder.threads.take() } else { None }?;
        if tls::stack_high() == 0 {
            find_stack();
        }
        // SAFETY: the state was just taken, for this thread.
        unsafe { attach(recorder, state, Start::UNKNOWN) }.then_some(state)
    })
}

unsafe extern "C" {
    /// The end of the first thread's stack.
    static __libc_stack_end: usize;
}

/// Finds out where the stack of a thread is that was not created through us.
fn find_stack() {
    /// No thread's stack is taken to be larger.
    const LARGEST: usize = 1 << 30;
    let local = 0u8;
    let here = (&raw const local).addr();
    let mut high = 0;
    if gettid() == getpid() {
        // SAFETY: the loader's variable, which it sets before all else.
        high = unsafe { __libc_stack_end };
    }
    if high > here && high - here < LARGEST {
        tls::set_stack_high(high);
        tls::set_stack_low(high - LARGEST.min(high));
    } else {
        // Not known: depths count from here, and all of the stack is read with care.
        tls::set_stack_high(here);
        tls::set_stack_low(here);
    }
}

/// Gives this thread a state that was taken for it, and a record.
///
/// # Safety
/// `state` was taken by or for this thread and is used by nobody else.
pub unsafe fn attach(recorder: &Recorder, state: &'static ThreadState, start: Start) -> bool {
    let give_up = || {
        state.places.leave(&PLACES);
        state.locks.leave(&LOCKS);
        recorder.threads.give_back(state);
        tls::set_finished(1);
        false
    };
    let Some((record, index)) = record_for(recorder, &start) else { return give_up() };
    state.held.clear();
    state.record.set(record);
    state.index.store(index, Ordering::Relaxed);
    state.busy.store(0, Ordering::Relaxed);
    state.stack_high.set(tls::stack_high());
    state.next_record.set(0);
    state.end_of_records.set(0);
    state.logging.store(0, Ordering::Relaxed);
    state.handle.store(tls::pthread_self(), Ordering::Relaxed);
    state.destructor_runs.set(0);
    // SAFETY: the record was claimed for this thread. Without room for a table the thread
    // counts nothing; its record says that it was there.
    unsafe {
        fill_record(recorder, record, index, &start);
        log::go_on(recorder, state);
        state.places.take_over(&PLACES, (*record).places);
        state.locks.take_over(&LOCKS, (*record).table);
        if !state.places.is_there() && !table::begin(state) {
            return give_up();
        }
    }
    tls::set_state(Some(state));
    ENDS.notice((&raw const *state).cast());
    true
}

/// A fresh record or, when none is left, that of an ended thread with the same start
/// function.
fn record_for(recorder: &Recorder, start: &Start) -> Option<(*mut ThreadRecord, u32)> {
    let header = recorder.header();
    // SAFETY: the header is mapped, and the word is only touched atomically.
    let own =
        unsafe { AtomicU32::from_ptr(&raw mut (*header).own_threads).load(Ordering::Relaxed) };
    let (count, region) = recorder.file().threads();
    if count < region.capacity && own < RECORDS {
        let (record, index) = recorder.file().new_thread();
        if !record.is_null() {
            return Some((record, index));
        }
    }
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let page = recorder.file().page();
    for _ in 0..count {
        let index = NEXT.fetch_add(1, Ordering::Relaxed) % count;
        let offset = region.offset + u64::from(index) * u64::from(region.record_size);
        let record = recorder.file().at(offset).cast::<ThreadRecord>();
        // SAFETY: within the region. Acquire pairs with the Release in `finish`: we go on
        // with the table of the thread that ended.
        let taken = unsafe {
            (*record).process == page
                && (*record).start_function == start.function as u64
                && AtomicU32::from_ptr(&raw mut (*record).state)
                    .compare_exchange(
                        THREAD_EXITED,
                        THREAD_RUNNING,
                        Ordering::Acquire,
                        Ordering::Relaxed,
                    )
                    .is_ok()
        };
        if taken {
            return Some((record, index));
        }
    }
    if count == region.capacity || own == RECORDS {
        // SAFETY: as above; the word is only added to atomically. Where there was a place and no room
        // for it, that was counted when it was asked for.
        unsafe {
            let dropped = AtomicU32::from_ptr(&raw mut (*header).threads.dropped);
            dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
    None
}

/// # Safety
/// The record was claimed for this thread.
unsafe fn fill_record(recorder: &Recorder, record: *mut ThreadRecord, index: u32, start: &Start) {
    // SAFETY: by this function's own condition.
    unsafe {
        if (*record).lifetimes > 0 {
            (*record).earlier_ticks += (*record).ended.saturating_sub((*record).started);
            (*record).seen_cpu_at = 0;
        } else {
            (*record).start_function = start.function as u64;
            link(recorder, record, index);
        }
        (*record).lifetimes += 1;
        (*record).creator = start.creator;
        (*record).created_at = start.created_at;
        (*record).tid = gettid().as_raw_nonzero().get() as u32;
        (*record).started = clock::now();
        (*record).last_seen = (*record).started;
        (*record).ended = 0;
        store_name(record);
        // Release: readers of the file take a record whose state says that it is there.
        AtomicU32::from_ptr(&raw mut (*record).state).store(THREAD_RUNNING, Ordering::Release);
    }
}

/// Says whose a new record is, and leads to it from the process's header.
///
/// # Safety
/// As of [`fill_record`].
unsafe fn link(recorder: &Recorder, record: *mut ThreadRecord, index: u32) {
    let header = recorder.header();
    // SAFETY: by this function's own condition; the header is mapped, and its words are only touched
    // atomically.
    unsafe {
        (*record).process = recorder.file().page();
        AtomicU32::from_ptr(&raw mut (*header).own_threads).fetch_add(1, Ordering::Relaxed);
        let latest = AtomicU32::from_ptr(&raw mut (*header).latest_thread);
        let after = |previous: u32| {
            (*record).previous = previous;
            Some(index + 1)
        };
        // Release: readers of the file who find this record find the one before it.
        let _ = latest.fetch_update(Ordering::Release, Ordering::Relaxed, after);
    }
}

/// Stores the calling thread's name into its record.
///
/// # Safety
/// The record is this thread's own.
pub unsafe fn store_name(record: *mut ThreadRecord) {
    // SAFETY: by this function's own condition; the call writes at most 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, (&raw mut (*record).name).cast::<u8>()) };
}

syncline_interpose::thread_ends!(
    /// By which the ends of threads are noticed.
    ENDS, destructor
);

/// Takes a key while the program has none yet.
pub fn prepare() {
    ENDS.prepare();
}

unsafe extern "C" fn destructor(value: *mut c_void) {
    // After a fork the state may have been wiped, and given to another thread since.
    let mine = |state: &&ThreadState| (&raw const **state).cast() == value.cast_const();
    let Some(state) = tls::state().filter(mine) else { return };
    if !state.is_attached() {
        return;
    }
    let runs = state.destructor_runs.get() + 1;
    state.destructor_runs.set(runs);
    if runs >= DESTRUCTOR_RUNS || !ENDS.notice(value) {
        finish(state);
    }
}

/// The thread has ended, or nearly so.
fn finish(state: &'static ThreadState) {
    let record = state.record.get();
    // SAFETY: the record is this thread's own as long as the state is attached.
    unsafe {
        store_name(record);
        (*record).cpu_ns += clock::nanoseconds(ClockId::ThreadCPUTime);
        (*record).ready_ns += usage::ready();
        (*record).waiting_op = 0;
        (*record).ended = clock::now();
        (*record).last_seen = (*record).ended;
    }
    tls::set_finished(1);
    tls::set_state(None);
    state.held.clear();
    state.places.leave(&PLACES);
    state.locks.leave(&LOCKS);
    // SAFETY: as above. Release pairs with the Acquire in `record_for`.
    unsafe {
        AtomicU32::from_ptr(&raw mut (*record).state).store(THREAD_EXITED, Ordering::Release);
    }
    if let Some(recorder) = recorder::existing() {
        recorder.threads.give_back(state);
    }
}
