//! Starts tracing, by lending a context to a thread.

use crate::dispatch::enter::enter;
use crate::engine::choice::Choice;
use crate::engine::context::{Context, TRACING};
use crate::process::budget::MEASURED;
use crate::section::Caller;
use crate::thread::Thread;
use crate::{aside, clock, tls};

/// Takes a context for this thread, to trace a section for which `choice` was made; `None` if no
/// context is free, or the section can't be traced.
pub fn start(thread: &mut Thread, caller: Caller, choice: Choice) -> Option<&'static mut Context> {
    aside::allowed(|| take(thread, caller, choice))?
}

fn take(thread: &mut Thread, caller: Caller, choice: Choice) -> Option<&'static mut Context> {
    // The engine has a stack of its own. `with_signals_blocked` says what the kernel would do to a
    // handler on the alternate stack meanwhile.
    if is_on_alternate_stack(caller) {
        return None;
    }
    // Without a budget, the cost of tracing is only reported, and reading the clock would cost as
    // much as a small section.
    let measured = thread.process.options.budget != 0 || thread.random(MEASURED as u32) == 0;
    let began = measured.then(clock::of_thread);
    thread.learn_stack(caller.addr() as u64);
    let context = Context::take(thread.tid)?;
    let engine = context.engine();
    engine.sections.stack = thread.stack;
    engine.sections.fs = tls::fs_base();
    engine.handler_ran = false;
    engine.choice = choice;
    engine.began = began;
    context.entry = enter as *const () as u64;
    context.doubt_code();
    context.state = TRACING;
    tls::set_context((&raw mut *context).addr());
    Some(context)
}

/// Whether the caller runs on the thread's alternate stack for signal handlers.
fn is_on_alternate_stack(caller: Caller) -> bool {
    let stack = syncline_interpose::alternate_stack();
    caller.addr().wrapping_sub(stack.ss_sp.addr()) < stack.ss_size
}
