//! Which sections are traced.

use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;

use super::Caller;
use crate::engine::context::{Context, TRACING};
use crate::process::MEASURED;
use crate::thread::Thread;
use crate::{aside, clock, heap, tls};

/// Where the budget allows, the next section to trace is up to twice so many acquisitions away:
/// at random, lest it keep step with the program.
const GAP: u32 = 8;
/// As [`GAP`] where the budget is used up.
const LONG_GAP: u32 = 128;

/// So many sections of a call site are traced as soon as the budget allows: a site that is rarely
/// reached would hardly be met at random.
const FIRST: u32 = 32;
/// Once a site has had so many, it is passed over the more often the more it has had, and leaves the
/// budget to others: analysis looks at windows of a hundred sections, and memory is not endless.
const MANY: u32 = 4096;

/// Whether the next section, of this call site, is to be traced. `is_rare` says that the site may
/// have had fewer than [`FIRST`], and is cleared when it has had more. The acquisition stands for so
/// many.
#[inline]
pub fn is_chosen(thread: &mut Thread, site: u64, is_rare: &Cell<bool>, stands_for: u32) -> bool {
    if thread.process.options.budget == 0 {
        return thread.process.has_room();
    }
    thread.countdown = thread.countdown.saturating_sub(stands_for);
    thread.passed += stands_for;
    thread.looked_at += 1;
    if thread.countdown > 0 && !(thread.may_trace && is_rare.get()) {
        return false;
    }
    ask(thread, site, is_rare)
}

/// Does before a lock is tried what would take longer, once it is held. The next acquisition stands
/// for so many.
pub fn prepare(thread: &mut Thread, stands_for: u32) {
    if thread.countdown > stands_for {
        return;
    }
    let now = clock::now();
    thread.keep_written(now);
    if thread.process.options.budget != 0 {
        thread.process.keep_up(now);
    }
}

#[cold]
fn ask(thread: &mut Thread, site: u64, is_rare: &Cell<bool>) -> bool {
    let process = thread.process;
    let traced = process.traced_at(site);
    let before = traced.load(Relaxed);
    is_rare.set(before < FIRST);
    if before >= FIRST && thread.countdown > 0 {
        return false;
    }
    let (allocations, frees) = heap::thread_counts();
    let allocator = allocations.wrapping_add(frees);
    let allocator_calls = allocator.wrapping_sub(thread.allocator);
    process.passed_by(thread.passed, thread.looked_at, allocator_calls);
    (thread.passed, thread.looked_at, thread.allocator) = (0, 0, allocator);
    thread.may_trace = process.may_trace();
    thread.countdown = 1 + thread.random(2 * if thread.may_trace { GAP } else { LONG_GAP });
    let room = process.has_room();
    let chosen = room && thread.may_trace && (before < MANY || thread.random(before) < MANY);
    if chosen {
        traced.fetch_add(1, Relaxed);
    }
    chosen
}

/// Takes a context for this thread; none if there is none, or the section can't be traced.
pub fn start(thread: &mut Thread, caller: Caller) -> Option<&'static mut Context> {
    aside::allowed(|| take(thread, caller))?
}

fn take(thread: &mut Thread, caller: Caller) -> Option<&'static mut Context> {
    // The engine has a stack of its own: see `with_signals_blocked` for what the kernel would do to a
    // handler on the alternate one.
    if is_on_alternate_stack(caller) {
        return None;
    }
    // Where there is no budget to keep, what tracing costs is only told, and a look at the clock
    // would cost as much as a small section.
    let measured = thread.process.options.budget != 0 || thread.random(MEASURED as u32) == 0;
    let began = measured.then(clock::of_thread);
    thread.learn_stack(caller.addr() as u64);
    let context = Context::take(thread.tid)?;
    let engine = context.engine();
    engine.sections.stack = thread.stack;
    engine.sections.fs = tls::fs_base();
    engine.handler_ran = false;
    engine.began = began;
    context.doubt_code();
    context.state = TRACING;
    tls::set_context((&raw mut *context).addr());
    Some(context)
}

/// Whether the program runs on the stack that it has given handlers of signals.
fn is_on_alternate_stack(caller: Caller) -> bool {
    // SAFETY: the call writes the structure.
    let stack = unsafe {
        let mut stack: libc::stack_t = core::mem::zeroed();
        libc::sigaltstack(core::ptr::null(), &mut stack);
        stack
    };
    caller.addr().wrapping_sub(stack.ss_sp.addr()) < stack.ss_size
}
