//! Finds out who calls an interposed function: a section that is being traced, or other code.

use syncline_trace::layout::STOP_JUMP;

use super::stop::stopped_here;
use crate::engine::context::{Context, SUSPENDED};
use crate::{aside, tls};

/// The stack pointer at the entry of an interposed function: the return address lies there.
pub type Caller = *mut u64;

/// A call of an interposed function.
pub enum Call {
    /// Nothing is being traced.
    Plain,
    /// The caller is a section that is being traced.
    Traced(&'static mut Context),
    /// The caller is a signal handler that interrupted a section, or the program is left alone: the
    /// call is only passed on.
    Foreign,
}

/// The kind of this call; to be called first in an interposed function.
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
            // The suspended call never returned, and another call has its position on the stack:
            // the C library left it by a jump to run the cleanup handlers of a cancelled thread.
            stopped_here(context, STOP_JUMP);
            return if alone { Call::Foreign } else { Call::Plain };
        }
        // SAFETY: by this function's own condition. The word holds the engine's return address,
        // which was put there in place of the program's.
        unsafe { *caller = context.target };
        if alone {
            tls::set_context(0);
            return Call::Foreign;
        }
        return Call::Traced(context);
    }
    // If a function of this library is suspended, the caller may be the program's own allocator,
    // not a handler.
    if context.state != SUSPENDED {
        context.engine().handler_ran = true;
    }
    Call::Foreign
}

/// The program's return address of a call, even if the engine has replaced it on the stack.
///
/// # Safety
/// Same requirements as [`enter`].
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
