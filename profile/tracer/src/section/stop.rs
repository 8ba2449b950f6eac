//! Stops tracing in the middle of a section, where it can't go on.

use super::edges::end;
use super::finish::write_rest;
use crate::engine::context::Context;
use crate::{aside, clock, thread, tls};

/// Stops tracing: every open section ends here, with `why` as the reason. The context stays lent to
/// this thread, since the thread may be running on the context's stack.
#[cold]
pub fn stopped(context: &mut Context, why: u32) {
    let now = clock::now();
    while let Some(&(lock, _)) = context.engine().held.last() {
        end(context, lock, now, 0, why);
    }
    tls::set_context(0);
    write_rest(context);
    if let Some(thread) = thread::existing() {
        thread.retire(context);
    }
}

/// Like [`stopped`], for tracing that stops in an interposed function.
#[cold]
pub fn stopped_here(context: &mut Context, why: u32) {
    tls::set_context(0);
    aside::work(|| stopped(context, why));
}
