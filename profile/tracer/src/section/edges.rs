//! Logs the beginning and the end of a traced section.

use syncline_trace::layout::{AFTER_WAIT, EARLY, HANDLER, NONE, SHARED, SectionRecord, WAITED};

use crate::engine::choice::Choice;
use crate::engine::context::Context;
use crate::engine::replay::{End, Event};
use crate::thread::Thread;
use crate::{clock, heap};

/// An acquisition that has succeeded.
#[derive(Clone, Copy)]
pub struct Acquired {
    /// The address of the lock.
    pub lock: usize,
    /// The function that was called to acquire it.
    pub op: syncline_recording::Op,
    /// Whether other threads may hold the lock at the same time.
    pub shared: bool,
    /// How long it waited, in ticks.
    pub waited: u64,
    /// The kernel's number of the thread that held the lock; 0 if that is unknown.
    pub holder: u32,
    /// How many acquisitions it stands for.
    pub stands_for: u32,
}

/// Begins the section of the acquisition `by` at the call site `site`. `row` is its row in the
/// thread's table of acquisitions; `after_wait` says whether the lock was acquired again by a wait
/// for a condition.
pub fn begin(
    context: &mut Context,
    thread: &mut Thread,
    by: &Acquired,
    site: u64,
    row: usize,
    after_wait: bool,
) {
    thread.traced(row);
    thread.process.waits.traced(by.lock as u64, site);
    let heap = heap::thread_counts();
    let flag = |is: bool, flag: u32| if is { flag } else { 0 };
    let outer = context.engine().held.last().map_or(0, |h| h.0);
    let is_early = context.engine().choice == Choice::Early;
    let acquired = clock::now();
    let holder = thread.process.thread(by.holder).filter(|_| by.waited > 0);
    let record = SectionRecord {
        lock: by.lock as u64,
        site,
        acquired,
        released: 0,
        waited: by.waited,
        // This time is read while the lock is held, so it is later than that of any earlier section
        // of the lock, and sections can be ordered by it.
        order: acquired,
        outer,
        holder: holder.unwrap_or(NONE),
        flags: flag(by.waited > 0, WAITED)
            | flag(by.shared, SHARED)
            | flag(after_wait, AFTER_WAIT)
            | flag(is_early, EARLY),
        stopped: 0,
        op: by.op as u32,
        allocations: heap.0,
        frees: heap.1,
        // SAFETY: a record consists of numbers only, for which all zeros are valid.
        ..unsafe { core::mem::zeroed() }
    };
    context.engine().held.push((by.lock as u64, 1));
    context.happened(Event::Begin(record));
}

/// Ends the section of a lock that was released at the time `released`, in ticks. `flags` and
/// `stopped` are those of [`End`].
pub fn end(context: &mut Context, lock: u64, released: u64, flags: u32, stopped: u32) {
    let engine = context.engine();
    engine.held.retain(|h| h.0 != lock);
    let flags = flags | if engine.handler_ran { HANDLER } else { 0 };
    let heap = heap::thread_counts();
    context.happened(Event::End(End { lock, released, flags, stopped, heap }));
}
