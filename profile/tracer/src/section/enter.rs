//! Finds out where a call of an interposed function comes from: from a section that is being
//! traced, or from other code.

use syncline_trace::layout::STOP_JUMP;

use super::stop::stopped_here;
use crate::engine::context::{Context, SUSPENDED};
use crate::{aside, tls};

/// The stack pointer at the entry of an interposed function, which points to the return address.
pub type Caller = *mut u64;

/// A call of an interposed function, by its origin.
pub enum Call {
    /// Nothing is being traced.
    Plain,
    /// The caller is a section that is being traced.
    Traced(&'static mut Context),
    /// The call is only passed on, for one of three reasons. A signal handler that interrupted a
    /// traced section made it; or code that an interposed function has called during such a section
    /// (the program's own allocator) made it; or the program is left alone.
    Foreign,
}

/// Finds out where this call comes from. Must be called first in an interposed function.
///
/// # Safety
/// `caller` is the stack pointer at the entry of a function of this library.
#[inline]
pub unsafe fn enter(caller: Caller) -> Call {
    // SAFETY: the word is 0 or the address of a context that is lent to this thread.
    let context = unsafe { (tls::context() as *mut Context).as_mut() };
    let alone = aside::is_closed();
    let Some(context) = context else {
        return if alone { Call::Foreign } else { Call::Plain };
    };
    if context.state == SUSPENDED && context.suspended_at == caller.addr() as u64 {
        // SAFETY: by this function's own condition.
        if unsafe { *caller } != context.resumes_at() {
            // The suspended call has never returned, and this call is another one at the same
            // position on the stack. That happens if the C library has left the first call by a
            // jump, to run the cleanup handlers of a cancelled thread.
            stopped_here(context, STOP_JUMP);
            return if alone { Call::Foreign } else { Call::Plain };
        }
        // SAFETY: by this function's own condition. The word holds the engine's return address,
        // which was put there in place of the program's, so the program's is put back.
        unsafe { *caller = context.target };
        if alone {
            tls::set_context(0);
            return Call::Foreign;
        }
        return Call::Traced(context);
    }
    // While the section is in an interposed function, this call may come from the program's own
    // allocator and not from a handler.
    if context.state != SUSPENDED {
        context.engine().handler_ran = true;
    }
    Call::Foreign
}

/// The address to which a call returns in the program, even if the engine has replaced it on the
/// stack.
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
