//! Critical sections: their begin, their end, and whether they are traced.
//!
//! Each interposed function of a lock begins with [`enter`] and ends with [`Call::leave`]. In
//! between it is one of three kinds:
//!
//! - nothing is being traced in this thread: an acquisition may begin a section;
//! - the section that is being traced has called it: it goes on when the function returns;
//! - something is being traced, but this call comes from elsewhere, which can only be a handler
//!   of a signal that interrupted it: it is passed on, and not followed.

mod call;
mod choose;
mod finish;

pub use finish::write;

use syncline_trace::layout::{
    AFTER_WAIT, EARLY, HANDLER, NONE, SHARED, STOP_JUMP, STOP_OTHER, SectionRecord, WAITED,
};

pub use choose::{Choice, prepare};
use syncline_interpose::run_on;

use crate::engine::context::{Context, IN_ENGINE, SUSPENDED, TRACING};
use crate::engine::replay::{End, Event};
use crate::thread::Thread;
use crate::{aside, clock, ending, heap, thread, tls};

/// The stack pointer at the entry of an interposed function: the return address lies there.
pub type Caller = *mut u64;

/// A call of an interposed function.
pub enum Call {
    /// Nothing is being traced.
    Plain,
    /// By a section that is being traced.
    Traced(&'static mut Context),
    /// By a handler that interrupted one, or in a program that is left alone: only to be passed on.
    Foreign,
}

/// An acquisition that has succeeded.
#[derive(Clone, Copy)]
pub struct Acquired {
    /// Address of the lock.
    pub lock: usize,
    /// What was called.
    pub op: syncline_recording::Op,
    /// Others may hold it too.
    pub shared: bool,
    /// Ticks that it waited.
    pub waited: u64,
    /// Who held it, by the kernel's number; 0 if that is not known.
    pub holder: u32,
    /// For how many acquisitions it stands.
    pub stands_for: u32,
}

/// The kind of call that this is.
///
/// # Safety
/// `caller` is the stack pointer at the entry of a function of this library.
#[inline]
pub unsafe fn enter(caller: Caller) -> Call {
    // SAFETY: the word is 0 or a context that is lent to this thread.
    let context = unsafe { (tls::context() as *mut Context).as_mut() };
    let alone = aside::is_closed();
    let Some(context) = context else {
        return if alone { Call::Foreign } else { Call::Plain };
    };
    if context.state == SUSPENDED && context.suspended_at == caller.addr() as u64 {
        // SAFETY: by this function's own condition.
        if unsafe { *caller } != context.resumes_at() {
            // The call that was there never returned, and another one has its place on the stack: the C
            // library jumped out of it to run the handlers of a cancelled thread.
            stopped_here(context, STOP_JUMP);
            return if alone { Call::Foreign } else { Call::Plain };
        }
        // SAFETY: by this function's own condition. The engine's return address was put there.
        unsafe { *caller = context.target };
        if alone {
            tls::set_context(0);
            return Call::Foreign;
        }
        return Call::Traced(context);
    }
    // In a function of this library it may also be the program's own allocator that locks.
    if context.state != SUSPENDED {
        context.engine().handler_ran = true;
    }
    Call::Foreign
}

/// The return address of a call, also where the engine has exchanged it.
///
/// # Safety
/// As for [`enter`].
#[inline]
pub unsafe fn return_address(caller: *const u64) -> u64 {
    // SAFETY: as in `enter`.
    unsafe {
        match (tls::context() as *const Context).as_ref() {
            Some(context)
                if context.state == SUSPENDED
                    && context.suspended_at == caller.addr() as u64
                    && *caller == context.resumes_at() =>
            {
                context.target
            }
            _ => *caller,
        }
    }
}

/// Makes records of what was traced, after the release. On the context's stack: nothing runs there
/// while the section's thread is elsewhere.
pub fn finish(context: &'static mut Context) {
    aside::within(|| {
        let stack = context.stack as *mut u8;
        // SAFETY: the context is this thread's, and the engine is not running. Nobody else gets the
        // context, and its stack, before this thread gives it back below.
        unsafe { run_on(stack, || finish::finish(context)) };
        context.give_back();
    });
}

/// Tracing can't go on here: every section that is open ends with a reason. The context stays this
/// thread's, who may be on its stack.
pub fn stopped(context: &mut Context, why: u32) {
    let now = clock::now();
    while let Some(&(lock, _)) = context.engine().held.last() {
        end(context, lock, now, 0, why);
    }
    tls::set_context(0);
    finish::finish(context);
    if let Some(thread) = thread::existing() {
        thread.retire(context);
    }
}

/// As [`stopped`], in a function of this library.
fn stopped_here(context: &mut Context, why: u32) {
    tls::set_context(0);
    aside::work(|| stopped(context, why));
}

/// The program jumps out of what it does, to a place that was noted before. Where that is is not
/// known, so tracing ends.
///
/// # Safety
/// As for [`enter`].
pub unsafe fn jumping(caller: Caller) {
    // SAFETY: by this function's own condition.
    match unsafe { enter(caller) } {
        Call::Traced(context) => stopped_here(context, STOP_JUMP),
        Call::Foreign => {
            // From a handler: what it interrupted does not go on.
            // SAFETY: the word is 0 or a context that is lent to this thread.
            let context = unsafe { (tls::context() as *mut Context).as_mut() };
            let Some(context) = context else { return };
            let state = context.state;
            if state == IN_ENGINE {
                // In the middle of anything: this context is not used again.
                tls::set_context(0);
                return;
            }
            tls::set_context(0);
            aside::work(|| {
                context.drain_but(state == TRACING);
                stopped(context, STOP_JUMP);
            });
        }
        Call::Plain => {}
    }
}

/// The program is about to take system calls away from itself, which tracing needs: it is left alone
/// from here on.
///
/// # Safety
/// As for [`enter`].
pub unsafe fn leaving_alone(caller: Caller, why: &str) {
    // SAFETY: by this function's own condition.
    if let Call::Traced(context) = unsafe { enter(caller) } {
        stopped_here(context, STOP_OTHER);
    }
    ending::leave_alone(why);
}

fn begin(
    context: &mut Context,
    thread: &mut Thread,
    by: Acquired,
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
        // Taken while the lock is held, so it is greater than that of any section before.
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
        // SAFETY: a record is plain numbers.
        ..unsafe { core::mem::zeroed() }
    };
    context.engine().held.push((by.lock as u64, 1));
    context.happened(Event::Begin(record));
}

fn end(context: &mut Context, lock: u64, released: u64, flags: u32, stopped: u32) {
    let engine = context.engine();
    engine.held.retain(|h| h.0 != lock);
    let flags = flags | if engine.handler_ran { HANDLER } else { 0 };
    let heap = heap::thread_counts();
    context.happened(Event::End(End { lock, released, flags, stopped, heap }));
}
