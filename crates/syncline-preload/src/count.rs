//! The counting itself: what every interposed function does besides its call.
//!
//! An acquisition tries first. If the try succeeds, it was uncontended, and all that follows
//! is [`acquired`]: find the row, add one, note the lock as held. Only if it fails does
//! time get measured ([`wait_for_lock`]), and the holder looked for.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use syncline_recording::layout::{Blocker, Row, WaitRecord, bucket};
use syncline_recording::{Class, Op, Primitive};

use crate::recorder;
use crate::thread::held::{Held, Hold};
use crate::thread::{HOLD_SAMPLE_PERIOD, ThreadState, attach, rows};
use crate::{clock, tls};

/// Where the program called from: the stack pointer at the entry of the interposed
/// function, which points to the return address.
pub type Caller = *const usize;

/// How a wait ended.
pub enum Outcome {
    /// With what was waited for.
    Got,
    /// It took too long.
    TimedOut,
    /// A signal ended it.
    Interrupted,
    /// With an error, as if nothing had been waited for.
    Failed,
}

impl Outcome {
    /// Of a function that returns an error number.
    pub fn of(result: i32) -> Outcome {
        match result {
            0 | libc::EOWNERDEAD => Outcome::Got,
            libc::ETIMEDOUT => Outcome::TimedOut,
            _ => Outcome::Failed,
        }
    }

    /// Of a function that returns -1 and sets `errno`.
    pub fn of_errno(result: i32) -> Outcome {
        if result == 0 {
            return Outcome::Got;
        }
        // SAFETY: errno is always there.
        match unsafe { *libc::__errno_location() } {
            libc::ETIMEDOUT => Outcome::TimedOut,
            libc::EINTR => Outcome::Interrupted,
            _ => Outcome::Failed,
        }
    }

    /// Of a C11 function.
    pub fn of_c11(result: i32) -> Outcome {
        const SUCCESS: i32 = 0;
        const TIMEDOUT: i32 = 4;
        match result {
            SUCCESS => Outcome::Got,
            TIMEDOUT => Outcome::TimedOut,
            _ => Outcome::Failed,
        }
    }

    /// Of a function that can't fail.
    pub fn always(_: i32) -> Outcome {
        Outcome::Got
    }
}

/// Adds one in a single instruction, so that a signal handler that counts in the same row
/// loses nothing.
///
/// # Safety
/// The counter is this thread's own.
#[inline(always)]
unsafe fn add_one(counter: *mut u64) {
    // SAFETY: by this function's own condition.
    unsafe {
        core::arch::asm!("inc qword ptr [{0}]", in(reg) counter, options(nostack));
    }
}

/// Counts an acquisition that did not wait, and notes the lock as held.
///
/// Returns 0, as the caller mostly has to: so the rarer way ends in a jump.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(always)]
pub unsafe fn acquired(op: Op, lock: usize, caller: Caller) -> i32 {
    // SAFETY: by this function's own condition; the row is this thread's own.
    unsafe {
        if let Some((state, row)) = rows::known(op, lock, caller)
            && !is_timed((*row).calls)
            && state.held.push_untimed(row)
        {
            prefetch(row);
            add_one(&raw mut (*row).calls);
            return 0;
        }
        acquired_rarely(op, lock, caller)
    }
}

/// Asks for the row some ten rows on: where a walk over an array of locks comes next. The
/// processor's own guess ends at each page, and the store into a row that is not in the
/// cache holds up the next lock: without this, such a walk takes up to twice as long.
#[inline(always)]
fn prefetch(row: *mut Row) {
    const AHEAD: usize = 10 * size_of::<Row>();
    // SAFETY: a prefetch of any address is harmless.
    unsafe {
        core::arch::asm!(
            "prefetchw byte ptr [{row} + {ahead}]",
            row = in(reg) row,
            ahead = const AHEAD,
            options(nostack, preserves_flags),
        );
    }
}

/// An acquisition whose row has to be looked for, or that is to be timed.
#[cold]
#[inline(never)]
unsafe fn acquired_rarely(op: Op, lock: usize, caller: Caller) -> i32 {
    // SAFETY: the caller's condition; a row comes with its thread's state.
    unsafe {
        let row = rows::of(op, lock, caller);
        if !row.is_null() {
            let since = is_timed((*row).calls).then(clock::now);
            add_one(&raw mut (*row).calls);
            if let Some(state) = tls::state() {
                state.held.push(Hold { row, since, waited: false });
            }
        }
        0
    }
}

/// Whether the acquisition after so many is timed: a row's first one always, then one in
/// [`HOLD_SAMPLE_PERIOD`], at distances that follow the golden ratio, so that no rhythm of
/// the program's can hide from them.
#[inline(always)]
fn is_timed(calls: u64) -> bool {
    const SHIFT: u32 = u64::BITS - HOLD_SAMPLE_PERIOD.ilog2();
    calls.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> SHIFT == 0
}

/// Notes that the calling thread lets go of a lock; called just before it does. Returns
/// the lock, so that the caller need not keep it meanwhile.
#[inline(always)]
pub fn releasing(lock: usize) -> usize {
    match tls::state() {
        Some(state) if !state.held.pop_untimed(lock) => released_rarely(state, lock),
        _ => lock,
    }
}

/// A release of a lock that is not the newest, or was timed.
#[cold]
#[inline(never)]
fn released_rarely(state: &ThreadState, lock: usize) -> usize {
    if let Some(hold) = state.held.pop(lock)
        && let Some(since) = hold.since
    {
        add_hold(state, hold.row, since, hold.waited);
    }
    lock
}

/// Adds up a hold that was timed.
fn add_hold(state: &ThreadState, row: *mut Row, since: u64, waited: bool) {
    let now = clock::now();
    let ticks = now.saturating_sub(since);
    // SAFETY: state, row and record are this thread's own.
    unsafe {
        if !waited {
            (*row).held_ticks += ticks;
            (*row).held_max = (*row).held_max.max(ticks);
            (*row).held_samples = (*row).held_samples.saturating_add(1);
        } else if let Some(waits) = rows::waits_of(state, row) {
            (*waits).held_ticks += ticks;
            (*waits).held_max = (*waits).held_max.max(ticks);
            (*waits).held_samples += 1;
        }
        (*state.record.get()).last_seen = now;
    }
}

/// Counts an operation that neither waits nor holds: a wake-up, a thread's creation, a
/// semaphore that was positive.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(always)]
pub unsafe fn happened(op: Op, object: usize, caller: Caller) {
    // SAFETY: by this function's own condition.
    unsafe {
        let row = rows::of(op, object, caller);
        if !row.is_null() {
            add_one(&raw mut (*row).calls);
        }
    }
}

/// Counts the creation of an object: with a row of its own while its call site has created
/// few, else with one row for all, whose lock is 0.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(never)]
pub unsafe fn created(op: Op, object: usize, caller: Caller) {
    /// Objects of one call site, in one thread, that get a row of their own.
    const SINGLE: u32 = 1024;
    // SAFETY: by this function's own condition; the row is this thread's own.
    unsafe {
        let row = rows::of(op, 0, caller);
        if row.is_null() {
            return;
        }
        if (*row).held_samples < SINGLE {
            (*row).held_samples += 1;
            happened(op, object, caller);
        } else {
            add_one(&raw mut (*row).calls);
        }
    }
}

/// Counts a try that was refused.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(never)]
pub unsafe fn refused(op: Op, lock: usize, caller: Caller) {
    // SAFETY: by this function's own condition.
    unsafe {
        let row = rows::of(op, lock, caller);
        if row.is_null() {
            return;
        }
        if let Some(waits) = tls::state().and_then(|state| rows::waits_of(state, row)) {
            add_one(&raw mut (*waits).refused);
        }
    }
}

/// Waits for a lock that another thread holds: measures the wait, and who was in the way.
///
/// # Safety
/// `caller` is a [`Caller`].
#[cold]
#[inline(never)]
pub unsafe fn wait_for_lock(
    op: Op,
    lock: usize,
    caller: Caller,
    block: impl FnOnce() -> i32,
    outcome: fn(i32) -> Outcome,
) -> i32 {
    let holder = holder_of(lock);
    // SAFETY: by this function's own condition.
    unsafe { measured(op, lock, caller, holder, block, outcome) }
}

/// Waits for an event.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(never)]
pub unsafe fn wait_for_event(
    op: Op,
    object: usize,
    caller: Caller,
    block: impl FnOnce() -> i32,
    outcome: fn(i32) -> Outcome,
) -> i32 {
    // SAFETY: by this function's own condition.
    unsafe { measured(op, object, caller, None, block, outcome) }
}

/// Takes a lock that can't be tried: it was contended if that took longer than an
/// uncontended acquisition can.
///
/// # Safety
/// `caller` is a [`Caller`].
#[inline(never)]
pub unsafe fn lock_untried(
    op: Op,
    lock: usize,
    caller: Caller,
    block: impl FnOnce() -> i32,
    outcome: fn(i32) -> Outcome,
) -> i32 {
    /// Far above an uncontended acquisition, far below a wake-up: in nanoseconds.
    const UNCONTENDED_AT_MOST: u64 = 1_000;
    let holder = holder_of(lock);
    let began = clock::now();
    let result = block();
    let ended = clock::now();
    let outcome = outcome(result);
    // SAFETY: by this function's own condition; the row is this thread's own.
    unsafe {
        if clock::to_nanoseconds(ended - began) > UNCONTENDED_AT_MOST {
            let row = rows::of(op, lock, caller);
            add_call(op, row, began, ended, holder, outcome);
        } else if matches!(outcome, Outcome::Got) {
            acquired(op, lock, caller);
        }
    }
    result
}

/// # Safety
/// `caller` is a [`Caller`].
#[inline(always)]
unsafe fn measured(
    op: Op,
    lock: usize,
    caller: Caller,
    holder: Option<Holder>,
    block: impl FnOnce() -> i32,
    outcome: fn(i32) -> Outcome,
) -> i32 {
    // SAFETY: by this function's own condition. Rows are looked up anew after the wait: a
    // signal handler may have made the table grow meanwhile.
    unsafe {
        let row = rows::of(op, lock, caller);
        let stack = if row.is_null() { 0 } else { (*row).stack };
        let began = clock::now();
        waiting(op, lock, began, stack);
        let result = block();
        let ended = clock::now();
        waiting_no_more(ended);
        let row = if row.is_null() { row } else { rows::of(op, lock, caller) };
        add_call(op, row, began, ended, holder, outcome(result));
        result
    }
}

/// Counts a call that waited.
///
/// # Safety
/// The row is this thread's own, or null.
unsafe fn add_call(
    op: Op,
    row: *mut Row,
    began: u64,
    ended: u64,
    holder: Option<Holder>,
    outcome: Outcome,
) {
    if row.is_null() || matches!(outcome, Outcome::Failed) {
        return;
    }
    let got = matches!(outcome, Outcome::Got);
    // SAFETY: by this function's own condition; a row comes with its thread's state.
    unsafe {
        add_wait(row, ended - began, holder, &outcome);
        if got || op.class() == Class::Wait {
            add_one(&raw mut (*row).calls);
        }
        if got && has_holder(op) {
            let hold = Hold { row, since: Some(ended), waited: true };
            if let Some(state) = tls::state() {
                state.held.push(hold);
            }
        }
    }
}

/// Whether the one who acquires is the one who releases.
fn has_holder(op: Op) -> bool {
    op.class() == Class::Acquire && op.primitive() != Primitive::Semaphore
}

/// Says in the thread's record what it waits for, for whoever looks at a running program
/// or at one that was killed.
fn waiting(op: Op, lock: usize, since: u64, stack: u32) {
    if let Some(state) = attach::current() {
        // SAFETY: the record is this thread's own. A reader takes the words as they come;
        // `waiting_op` is stored last.
        unsafe {
            let record = state.record.get();
            (*record).waiting_lock = lock as u64;
            (*record).waiting_since = since;
            (*record).waiting_stack = stack;
            AtomicU32::from_ptr(&raw mut (*record).waiting_op).store(op as u32, Relaxed);
        }
    }
}

fn waiting_no_more(now: u64) {
    if let Some(state) = tls::state().filter(|state| !state.table.get().is_null()) {
        let record = state.record.get();
        // SAFETY: the record of an attached thread is its own.
        unsafe {
            AtomicU32::from_ptr(&raw mut (*record).waiting_op).store(0, Relaxed);
            (*record).last_seen = now;
        }
    }
}

/// Adds a wait to a row's wait record.
///
/// # Safety
/// The row is this thread's own.
unsafe fn add_wait(row: *mut Row, ticks: u64, holder: Option<Holder>, outcome: &Outcome) {
    // SAFETY: by this function's own condition; a wait record has one writer.
    unsafe {
        let Some(waits) = tls::state().and_then(|state| rows::waits_of(state, row)) else {
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

/// # Safety
/// The wait record is this thread's own.
unsafe fn blame(waits: *mut WaitRecord, holder: Holder, ticks: u64) {
    // SAFETY: by this function's own condition.
    let blockers = unsafe { &mut (*waits).blockers };
    let place = blockers.iter_mut().find(|b| b.stack == holder.stack || b.stack == 0);
    if let Some(blocker) = place {
        *blocker = Blocker {
            stack: holder.stack,
            thread: holder.thread,
            waits: blocker.waits + 1,
            ticks: blocker.ticks + ticks,
        };
    }
}

/// Who holds a lock: where it was acquired, and by which thread.
#[derive(Clone, Copy)]
pub struct Holder {
    stack: u32,
    thread: u32,
}

/// Looks through the locks that other threads hold or, if none holds it, have just let go
/// of. It reads what they may be changing; see [`crate::thread::held`].
fn holder_of(lock: usize) -> Option<Holder> {
    /// Threads that are looked at: about a microsecond's worth.
    const LOOK_AT: usize = 512;
    let me = tls::state_address();
    let threads = recorder::existing()?.threads.used();
    let look = |find: fn(&Held, usize) -> Option<*mut Row>| {
        threads.iter().take(LOOK_AT).find_map(|thread| {
            let row = find(&thread.held, lock).filter(|_| (&raw const *thread).addr() != me)?;
            // SAFETY: rows stay mapped; one that has moved reads as zero. The word is read
            // whole, while its owner may be storing it.
            let stack = unsafe { AtomicU32::from_ptr(&raw mut (*row).stack).load(Relaxed) };
            (stack != 0).then_some(Holder { stack, thread: thread.index.load(Relaxed) })
        })
    };
    look(Held::find).or_else(|| look(Held::find_released))
}

/// A lock that is let go of for the time of a wait, as a condition variable does.
pub struct Interrupted {
    lock: usize,
    ret: usize,
    key: u64,
    since: Option<u64>,
    waited: bool,
    began: u64,
}

/// Takes a lock off the held ones until [`resume`].
pub fn interrupt(lock: usize) -> Option<Interrupted> {
    let Hold { row, since, waited } = tls::state()?.held.pop(lock)?;
    let began = if since.is_some() { clock::now() } else { 0 };
    // SAFETY: the row is this thread's own.
    let (ret, key) = unsafe { ((*row).ret as usize, (*row).key) };
    Some(Interrupted { lock, ret, key, since, waited, began })
}

/// Puts it back: it counts as held since its acquisition, less the time in between.
pub fn resume(interrupted: Interrupted) {
    let Interrupted { lock, ret, key, since, waited, began } = interrupted;
    let Some(state) = tls::state() else { return };
    // The row is looked up anew, since it may have moved.
    // SAFETY: the state is this thread's own.
    if let Some(row) = unsafe { rows::find(state, lock, ret, key) } {
        let since = since.map(|since| since + (clock::now() - began));
        state.held.push(Hold { row, since, waited });
    }
}
