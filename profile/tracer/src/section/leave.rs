//! Ends a section without a release: before a jump, or because the program is left alone from then
//! on.

use syncline_trace::layout::{STOP_JUMP, STOP_OTHER};

use super::enter::{Call, Caller, enter};
use super::stop::{stopped, stopped_here};
use crate::engine::context::{Context, IN_ENGINE, TRACING};
use crate::{aside, ending, tls};

/// Ends tracing of the section before the program jumps (`longjmp`) to a position that it saved
/// before, because the tracer does not know that position.
///
/// # Safety
/// Same requirements as [`enter`].
pub unsafe fn jumping(caller: Caller) {
    // SAFETY: by this function's own condition.
    match unsafe { enter(caller) } {
        Call::Traced(context) => stopped_here(context, STOP_JUMP),
        Call::Foreign => {
            // The jump is made in a signal handler, so the interrupted section does not continue.
            // SAFETY: the word is 0 or the address of a context that is lent to this thread.
            let context = unsafe { (tls::context() as *mut Context).as_mut() };
            let Some(context) = context else { return };
            let state = context.state;
            if state == IN_ENGINE {
                // The handler interrupted the engine itself, whose state is unknown, so this
                // context is never used again.
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

/// Ends tracing of the program for good, because the program is about to forbid itself system calls
/// or the time stamp counter, which tracing needs. `why` is the reason to report.
///
/// # Safety
/// Same requirements as [`enter`].
pub unsafe fn leaving_alone(caller: Caller, why: &str) {
    // SAFETY: by this function's own condition.
    if let Call::Traced(context) = unsafe { enter(caller) } {
        stopped_here(context, STOP_OTHER);
    }
    ending::leave_alone(why);
}
