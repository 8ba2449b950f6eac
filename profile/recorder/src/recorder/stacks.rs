//! Captures call stacks for new rows.
//!
//! Unwinding takes half a microsecond. So the recorder first asks the file's index of stacks
//! whether an earlier call like this one had the same stack.

use core::ops::Range;

use syncline_recording::writer::Stack;

use crate::recorder;
use crate::tls;
use crate::unwind::tools::{Cache, Registers};
use crate::unwind::{self, Trace};

/// How many frames above a call may belong to wrappers: without optimisation, a C++ guard calls its
/// mutex, which calls the C library by way of one or two more functions.
const NEAR: usize = 5;

/// Captures the stack of a call to a function of ours, from the frame that `ret` returns to;
/// `caller` points to `ret`. Returns its number; 0 if it can't be stored. Without a cache the stack
/// has one frame.
pub fn capture(
    from: Registers,
    caller: *const usize,
    ret: usize,
    cache: Option<&mut Cache>,
) -> u32 {
    let Some(recorder) = recorder::existing() else { return 0 };
    let mut trace = Trace::new(caller.addr());
    unwind::trace(recorder.modules(), from, ret, cache, &mut trace);
    let (frames, slots) = (trace.frames(), trace.slots());
    let stack = Stack { frames, slots, cut: trace.cut, broken: trace.broken };
    recorder.file().add_stack(&stack, caller, ret, own_stack())
}

/// The stack of a call, if it was captured before for an equal call, perhaps by another process of
/// the file.
///
/// # Safety
/// Same requirement as [`is_here`].
pub unsafe fn known(caller: *const usize, ret: usize) -> Option<u32> {
    let recorder = recorder::existing()?;
    // SAFETY: by this function's own condition.
    unsafe { recorder.file().stack_of_call(caller, ret, own_stack()) }
}

/// Whether a stack is that of a call: all its return addresses still lie at the same positions.
///
/// # Safety
/// `caller` points to the return address of a call that the thread is in.
pub unsafe fn is_here(number: u32, caller: *const usize) -> bool {
    let Some(recorder) = recorder::existing() else { return false };
    // SAFETY: by this function's own condition; the thread's stack is mapped.
    unsafe { recorder.file().is_stack_of(number, caller, own_stack()) }
}

/// The distance in words from a call's return address to the first other one in which the call
/// differs from a stack; `None` if they are equal for the next [`NEAR`] frames, or if that is not
/// known.
///
/// # Safety
/// Same requirement as [`is_here`].
pub unsafe fn differs_at(number: u32, caller: *const usize) -> Option<u32> {
    let recorder = recorder::existing()?;
    // SAFETY: by this function's own condition.
    unsafe { recorder.file().differs_at(number, caller, own_stack(), NEAR) }
}

/// The bounds of the thread's stack.
fn own_stack() -> Range<usize> {
    tls::stack_low()..tls::stack_high()
}
