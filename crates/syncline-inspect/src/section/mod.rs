//! Critical sections: their begin, their end, and whether they are traced.
//!
//! Each interposed function of a lock begins with [`enter`] and ends with [`Call::leave`]. In
//! between it is one of three kinds:
//!
//! - nothing is being traced in this thread: an acquisition may begin a section;
//! - the section that is being traced has called it: it goes on when the function returns;
//! - something is being traced, but this call comes from elsewhere, which can only be a handler
//!   of a signal that interrupted it: it is passed on, and not followed.

mod finish;

use syncline_trace::layout::{
    AFTER_WAIT, BEFORE_WAIT, HANDLER, NONE, STOP_JUMP, SHARED, SectionRecord, WAITED,
};

use crate::engine::context::{Context, SUSPENDED, TRACING};
use crate::engine::replay::{End, Event};
use crate::thread::Thread;
use crate::{clock, heap, thread, tls};

/// The stack pointer at the entry of an interposed function: the return address lies there.
pub type Caller = *mut u64;

/// One acquisition in so many has its time held measured.
const TIMED: u32 = 32;
/// Where the budget allows, the next section to trace is up to twice so many acquisitions away:
/// at random, lest it keep step with the program.
const GAP: u32 = 8;
/// As [`GAP`] where the budget is used up.
const LONG_GAP: u32 = 128;

/// A call of an interposed function.
pub enum Call {
    /// Nothing is being traced.
    Plain,
    /// By a section that is being traced.
    Traced(&'static mut Context),
    /// By a handler that interrupted one.
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
}

/// The kind of call that this is.
///
/// # Safety
/// `caller` is the stack pointer at the entry of a function of this library.
#[inline]
pub unsafe fn enter(caller: Caller) -> Call {
    // SAFETY: the word is 0 or a context that is lent to this thread.
    let context = unsafe { (tls::context() as *mut Context).as_mut() };
    let Some(context) = context else { return Call::Plain };
    if context.state == SUSPENDED && context.suspended_at == caller.addr() as u64 {
        // SAFETY: by this function's own condition. The engine's return address was put there.
        unsafe { *caller = context.target };
        return Call::Traced(context);
    }
    context.engine().handler_ran = true;
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
                    && context.suspended_at == caller.addr() as u64 =>
            {
                context.target
            }
            _ => *caller,
        }
    }
}

impl Call {
    /// Ends the interposed function: what is being traced goes on behind it.
    ///
    /// # Safety
    /// As for [`enter`], with the same caller.
    #[inline]
    pub unsafe fn leave(self, caller: Caller) {
        if let Call::Traced(context) = self {
            // SAFETY: by this function's own condition.
            unsafe { context.resume(caller) };
        }
    }

    /// Counts an acquisition, and begins its section if it is to be traced.
    ///
    /// # Safety
    /// As for [`enter`], with the same caller.
    #[inline]
    pub unsafe fn acquired(&mut self, by: Acquired, caller: Caller) {
        // SAFETY: by this function's own condition.
        unsafe { self.acquired_after(by, caller, false, false) };
    }

    /// As [`Call::acquired`]; perhaps where a wait for a condition ended, and perhaps because the
    /// part before it was traced.
    ///
    /// # Safety
    /// As for [`enter`], with the same caller.
    pub unsafe fn acquired_after(
        &mut self,
        by: Acquired,
        caller: Caller,
        waited_for_condition: bool,
        must: bool,
    ) {
        if matches!(self, Call::Foreign) {
            return;
        }
        let Some(thread) = thread::current() else { return };
        if thread.busy {
            return;
        }
        thread.busy = true;
        // SAFETY: by this function's own condition.
        let site = unsafe { *caller };
        let row = thread.row(by.lock as u64, site, by.op as u32);
        if !waited_for_condition {
            thread.acquired(row, by.waited);
        }
        match self {
            Call::Traced(context) => {
                let depth = context.engine().held.iter_mut().find(|h| h.0 == by.lock as u64);
                match depth {
                    Some((_, depth)) => *depth += 1,
                    None => begin(context, thread, by, site, row, waited_for_condition),
                }
            }
            _ => {
                if thread.is_selected(row) && (must || is_chosen(thread)) {
                    if let Some(context) = start(thread, caller) {
                        begin(context, thread, by, site, row, waited_for_condition);
                        *self = Call::Traced(context);
                    }
                } else if thread.timed.is_none() && thread.random(TIMED) == 0 {
                    thread.timed = Some((by.lock as u64, clock::now(), row));
                }
            }
        }
        thread.busy = false;
    }

    /// A lock is about to be released. The section, if it was traced and nothing else is, is to be
    /// finished after the release.
    #[inline]
    pub fn releasing(&mut self, lock: usize) -> Option<&'static mut Context> {
        match self {
            Call::Foreign => None,
            Call::Plain => {
                // SAFETY: this thread's own, and never freed.
                let thread = unsafe { (tls::thread() as *mut Thread).as_mut() };
                if let Some(thread) = thread
                    && let Some((timed, since, row)) = thread.timed
                    && timed == lock as u64
                    && !thread.busy
                {
                    thread.held(row, clock::now().saturating_sub(since));
                    thread.timed = None;
                }
                None
            }
            Call::Traced(context) => {
                let released = clock::now();
                let held = &mut context.engine().held;
                let place = held.iter().rposition(|h| h.0 == lock as u64)?;
                held[place].1 -= 1;
                if held[place].1 > 0 {
                    return None;
                }
                end(context, lock as u64, released, 0, 0);
                self.detach()
            }
        }
    }

    /// A wait for a condition is about to release a mutex, however often it is held. Whether its
    /// section was traced.
    ///
    /// What was traced is finished at once: after the wait others wait for it again.
    pub fn waiting(&mut self, lock: usize) -> bool {
        let Call::Traced(context) = self else {
            let _ = self.releasing(lock);
            return false;
        };
        let held = context.engine().held.iter().any(|h| h.0 == lock as u64);
        if held {
            end(context, lock as u64, clock::now(), BEFORE_WAIT, 0);
            if let Some(context) = self.detach() {
                finish(context);
            }
        }
        held
    }

    /// Takes the context from the thread if nothing is traced in it any more.
    fn detach(&mut self) -> Option<&'static mut Context> {
        let Call::Traced(context) = self else { return None };
        if !context.engine().held.is_empty() {
            return None;
        }
        tls::set_context(0);
        match core::mem::replace(self, Call::Plain) {
            Call::Traced(context) => Some(context),
            _ => None,
        }
    }
}

/// Makes records of what was traced, after the release.
pub fn finish(context: &'static mut Context) {
    syncline_interpose::preserving_errno(|| finish::finish(context));
}

/// Tracing can't go on here: every section that is open ends with a reason.
pub fn stopped(context: &mut Context, why: u32) {
    let now = clock::now();
    while let Some(&(lock, _)) = context.engine().held.last() {
        end(context, lock, now, 0, why);
    }
    tls::set_context(0);
    finish::finish(context);
}

/// The program jumps out of what it does, to a place that was noted before. Where that is is not
/// known, so tracing ends.
///
/// # Safety
/// As for [`enter`].
pub unsafe fn jumping(caller: Caller) {
    // SAFETY: by this function's own condition.
    match unsafe { enter(caller) } {
        Call::Traced(context) => stopped(context, STOP_JUMP),
        Call::Foreign => {
            // From a handler: what it interrupted does not go on. The context may have been
            // interrupted in the middle of anything, and is not used again.
            tls::set_context(0);
        }
        Call::Plain => {}
    }
}

/// Whether the next section is to be traced.
fn is_chosen(thread: &mut Thread) -> bool {
    let process = thread.process;
    if process.options.budget == 0 {
        return true;
    }
    thread.countdown -= 1;
    if thread.countdown > 0 {
        return false;
    }
    let may = process.may_trace(clock::now());
    thread.countdown = 1 + thread.random(2 * if may { GAP } else { LONG_GAP });
    may
}

/// Takes a context for this thread.
fn start(thread: &mut Thread, caller: Caller) -> Option<&'static mut Context> {
    let context =
        syncline_interpose::preserving_errno(|| {
            thread.learn_stack(caller.addr() as u64);
            Context::take(thread.tid)
        })?;
    let engine = context.engine();
    engine.sections.stack = thread.stack;
    engine.sections.fs = tls::fs_base();
    engine.handler_ran = false;
    engine.began = clock::now();
    context.state = TRACING;
    tls::set_context((&raw mut *context).addr());
    Some(context)
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
    let heap = heap::thread_counts();
    let flag = |is: bool, flag: u32| if is { flag } else { 0 };
    let outer = context.engine().held.last().map_or(0, |h| h.0);
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
        flags: flag(by.waited > 0, WAITED) | flag(by.shared, SHARED) | flag(after_wait, AFTER_WAIT),
        stopped: 0,
        op: by.op as u32,
        // SAFETY: a record is plain numbers.
        allocations: heap.0,
        frees: heap.1,
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
