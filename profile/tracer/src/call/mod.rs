//! The part of an interposed function that counts its call, and begins and ends sections.
//!
//! ```text
//!   (this file)   counts acquisitions, and begins and ends sections
//!   choose        which sections are traced
//!   start         begins to trace a section
//! ```

pub mod choose;
mod start;

use core::cell::Cell;

use syncline_trace::layout::BEFORE_WAIT;

use crate::engine::choice::Choice;
use crate::engine::context::Context;
use crate::section::{Acquired, Call, Caller, begin, end, finish};
use crate::{clock, thread, tls};

impl Call {
    /// Ends the interposed function. If the thread is being traced, tracing continues when the
    /// function has returned.
    ///
    /// # Safety
    /// Same requirements as [`enter`](crate::section::enter), with the same caller.
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
    /// Same requirements as [`enter`](crate::section::enter), with the same caller.
    #[inline]
    pub unsafe fn acquired(&mut self, by: Acquired, caller: Caller) {
        // SAFETY: by this function's own condition.
        unsafe { self.acquired_after(by, caller, false, Choice::Passed) };
    }

    /// Like [`Call::acquired`], for an acquisition that may end a wait for a condition. If it does,
    /// the section is traced if its part before the wait was traced (`before`).
    ///
    /// # Safety
    /// Same requirements as [`enter`](crate::section::enter), with the same caller.
    pub unsafe fn acquired_after(
        &mut self,
        by: Acquired,
        caller: Caller,
        waited_for_condition: bool,
        before: Choice,
    ) {
        if matches!(self, Call::Foreign) {
            return;
        }
        let Some(thread) = thread::current() else { return };
        if thread.busy {
            return;
        }
        thread.has_left(caller.addr() as u64);
        thread.busy = true;
        // SAFETY: by this function's own condition.
        let site = unsafe { *caller };
        let row = thread.row(by.lock as u64, site, by.op as u32);
        if !waited_for_condition {
            thread.acquired(row, by.stands_for, by.waited);
        }
        if by.waited > 0 && thread.process.options.budget != 0 && thread.is_selected(row) {
            thread.process.waits.waited(by.lock as u64, site, by.waited);
        }
        let rare = Cell::new(thread.is_rare(row));
        match self {
            Call::Traced(context) => {
                let depth = context.engine().held.iter_mut().find(|h| h.0 == by.lock as u64);
                match depth {
                    Some((_, depth)) => *depth += 1,
                    None => begin(context, thread, &by, site, row, waited_for_condition),
                }
            }
            _ => {
                let choice = match (thread.is_selected(row), before) {
                    (false, _) => Choice::Passed,
                    (_, Choice::Passed) => {
                        choose::choose(thread, (by.lock as u64, site), &rare, by.stands_for)
                    }
                    (_, before) => before,
                };
                if choice != Choice::Passed {
                    if let Some(context) = start::start(thread, caller, choice) {
                        begin(context, thread, &by, site, row, waited_for_condition);
                        *self = Call::Traced(context);
                    }
                } else if thread.is_to_be_timed(by.stands_for) {
                    thread.time(by.lock, row);
                }
                if !rare.get() {
                    thread.not_rare(row);
                }
            }
        }
        thread.busy = false;
    }

    /// Notes that a lock is about to be released. If the release ends the thread's only traced
    /// section, returns the section's context, for the caller to finish after the release.
    #[inline]
    pub fn releasing(&mut self, lock: usize) -> Option<&'static mut Context> {
        match self {
            Call::Foreign => None,
            Call::Plain => {
                if tls::timed() == lock
                    && let Some(thread) = thread::existing()
                    && !thread.busy
                {
                    thread.timed();
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

    /// Notes that a wait for a condition is about to release a mutex completely, even if the thread
    /// holds it several times. Returns whether the mutex's section was traced, and why.
    ///
    /// The traced section is written at once, unless the thread has another one open. After the
    /// wait, this thread holds the lock again, and writing would make other threads wait.
    pub fn waiting(&mut self, lock: usize) -> Choice {
        let Call::Traced(context) = self else {
            let _ = self.releasing(lock);
            return Choice::Passed;
        };
        let engine = context.engine();
        if !engine.held.iter().any(|h| h.0 == lock as u64) {
            return Choice::Passed;
        }
        let choice = engine.choice;
        end(context, lock as u64, clock::now(), BEFORE_WAIT, 0);
        if let Some(context) = self.detach() {
            finish(context);
        }
        choice
    }

    /// Takes the context from the thread; `None` if it has none, or if one of its traced sections
    /// is still open.
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
