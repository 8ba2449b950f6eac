//! Gives a thread its state and its record, and takes them back.
//!
//! The destructor of a thread-specific key shows the end of a thread. The destructor runs however
//! the thread ends: return, `pthread_exit`, cancellation. Other destructors may still use locks
//! afterwards. So this one asks to run again, as often as POSIX allows, and gives the state up only
//! in its last run.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use rustix::process::getpid;
use rustix::thread::gettid;
use rustix::time::ClockId;
use syncline_interpose::preserving_errno;
use syncline_recording::Op;
use syncline_recording::layout::ThreadRecord;
use syncline_recording::writer::{ThreadStart, end_thread};

use crate::recorder::{self, Recorder};
use crate::thread::{self, Start, ThreadState, usage};
use crate::{clock, tls};

/// `PTHREAD_DESTRUCTOR_ITERATIONS` of the C library.
const DESTRUCTOR_RUNS: u32 = 4;

/// The state of this thread, if it has one.
#[inline(always)]
fn attached() -> Option<&'static ThreadState> {
    thread::state().filter(|state| state.is_attached())
}

/// Gives this thread its state, if it has none. Called before a lock is tried, so that whatever a
/// process and a thread need is made while the thread does not have that lock yet.
#[inline(always)]
pub fn before_trying() {
    if attached().is_none() {
        unseen();
    }
}

/// The state of this thread, which gets one now if it has none. `None` if the thread can't be
/// recorded; then its operation is counted as missed.
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

/// Gives a state to a thread whose creation was not seen, to one that forked, or to the first
/// thread.
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
    /// The start of the first thread's stack, its highest address.
    static __libc_stack_end: usize;
}

/// Finds the stack of a thread that was not created through this library.
fn find_stack() {
    /// No thread's stack is assumed to be larger.
    const LARGEST: usize = 1 << 30;
    let local = 0u8;
    let here = (&raw const local).addr();
    let mut high = 0;
    if gettid() == getpid() {
        // SAFETY: the loader's variable, which it sets before anything else runs.
        high = unsafe { __libc_stack_end };
    }
    if high > here && high - here < LARGEST {
        tls::set_stack_high(high);
        tls::set_stack_low(high - LARGEST.min(high));
    } else {
        // The bounds are unknown: depths count from here, and all of the stack is read with care.
        tls::set_stack_high(here);
        tls::set_stack_low(here);
    }
}

/// Stores this thread's index in its creator's record, if the creator waits for this thread's end
/// already.
fn tell(recorder: &Recorder, creator: u32, index: u32) {
    let record = recorder.file().thread_record(creator);
    // Pairs with the fence in `count::wait::name_joined`.
    fence(Ordering::SeqCst);
    // SAFETY: a record in use, whose words are read and written whole. If its thread has stopped
    // waiting when the index is stored, the index is not read.
    unsafe {
        let op = AtomicU32::from_ptr(&raw mut (*record).waiting_op).load(Ordering::Relaxed);
        let object = AtomicU64::from_ptr(&raw mut (*record).waiting_lock).load(Ordering::Relaxed);
        if op == Op::ThreadJoin as u32 && object == tls::pthread_self() as u64 {
            let holder = AtomicU32::from_ptr(&raw mut (*record).waiting_holder);
            holder.store(index + 1, Ordering::Relaxed);
        }
    }
}

/// Gives this thread a record, and the state that was taken for it. False if there is no room.
///
/// # Safety
/// `state` was taken by or for this thread, and no other thread uses it.
pub unsafe fn attach(recorder: &Recorder, state: &'static ThreadState, start: Start) -> bool {
    let give_up = || {
        state.leave_tables(Some(recorder.room()));
        recorder.threads.give_back(state);
        tls::set_finished(1);
        false
    };
    let file = recorder.file();
    let function = start.function as u64;
    let Some((record, index)) = file.claim_thread(function) else { return give_up() };
    // If the process ran before the recording, a thread whose creation was not seen has already
    // used processor time.
    let may_be_found = start.creator == u32::MAX && file.was_attached_to();
    let begun = ThreadStart {
        function,
        creator: start.creator,
        created_at: start.created_at,
        tid: gettid().as_raw_nonzero().get() as u32,
        started: clock::now(),
        name: name(),
        before: if may_be_found { usage::so_far() } else { None },
    };
    state.held.clear();
    state.pending.clear();
    state.record.set(record);
    state.index.store(index, Ordering::Relaxed);
    state.busy.clear();
    state.stack_high.set(tls::stack_high());
    state.tail.leave();
    // A thread whose creation was seen has used nothing yet.
    let is_new = start.creator != u32::MAX;
    state.cpu_before.set(if is_new { 0 } else { clock::nanoseconds(ClockId::ThreadCPUTime) });
    state.handle.store(tls::pthread_self(), Ordering::Relaxed);
    state.destructor_runs.set(0);
    if is_new {
        tell(recorder, start.creator, index);
    }
    // SAFETY: the record was claimed for this thread. Without room for a table the thread counts
    // nothing, but its record shows that it existed.
    unsafe {
        file.begin_thread(record, index, &begun);
        state.log.take_over(file, record);
        if !state.take_over_tables(recorder.room()) {
            return give_up();
        }
    }
    thread::set_state(Some(state));
    ENDS.notice((&raw const *state).cast());
    true
}

/// The calling thread's name.
fn name() -> [u8; 24] {
    let mut name = [0u8; 24];
    // SAFETY: the call writes at most 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// Stores the calling thread's name into its record.
///
/// # Safety
/// The record is this thread's own.
pub unsafe fn store_name(record: *mut ThreadRecord) {
    // SAFETY: by this function's own condition.
    unsafe { (*record).name = name() };
}

syncline_interpose::thread_ends!(
    /// The key whose destructor shows the ends of threads.
    ENDS, destructor
);

/// Makes the key. In a program that loads the library at its start, this happens while the program
/// has no key yet.
pub fn prepare() {
    ENDS.prepare();
}

/// No longer notices the ends of threads, and leaves the key to the program.
pub fn rest() {
    ENDS.rest();
}

unsafe extern "C" fn destructor(value: *mut c_void) {
    // After a fork, the state may have been wiped, and may belong to another thread by now.
    let mine = |state: &&ThreadState| (&raw const **state).cast() == value.cast_const();
    let Some(state) = thread::state().filter(mine) else { return };
    if !state.is_attached() {
        return;
    }
    let runs = state.destructor_runs.get() + 1;
    state.destructor_runs.set(runs);
    if runs >= DESTRUCTOR_RUNS || !ENDS.notice(value) {
        finish(state);
    }
}

/// Ends the recording of this thread, which has ended or is about to.
fn finish(state: &'static ThreadState) {
    let record = state.record.get();
    // SAFETY: the record is this thread's own as long as the state is attached.
    unsafe {
        store_name(record);
        let times = usage::at_end((*record).started, state.cpu_before.get());
        (*record).cpu_ns += times.cpu_ns as i64;
        (*record).ready_ns += times.ready_ns as i64;
        (*record).waiting_op = 0;
        (*record).ended = clock::now();
        (*record).last_seen = (*record).ended;
    }
    tls::set_finished(1);
    thread::set_state(None);
    state.held.clear();
    state.leave_tables(recorder::existing().map(Recorder::room));
    // SAFETY: as above.
    unsafe { end_thread(record) };
    if let Some(recorder) = recorder::existing() {
        recorder.threads.give_back(state);
    }
}
