//! Code that several export formats share.

use syncline_analysis::model::{Kind, Lock, Process, Site, Span, Way};
use syncline_analysis::name::primitive;

/// The stacks that waited for locks: the site, the stack, and the figures of the site with this
/// stack.
///
/// Waiting for events is left out, since the waits of idle workers would hide all other waits.
pub fn waits_for_locks(process: &Process) -> impl Iterator<Item = (&Site, usize, &Way)> {
    let sites = process.sites.iter().filter(|site| site.kind == Kind::Lock);
    let ways = sites.flat_map(|site| {
        let ways = site.stacks.iter().zip(&site.ways);
        ways.map(move |(&stack, way)| (site, stack, way))
    });
    ways.filter(|(_, _, way)| way.waits > 0)
}

/// Converts seconds to whole nanoseconds.
pub fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// The object that a span waits for or holds: its name, or its primitive if the object is unknown.
pub fn object<'a>(process: &'a Process, span: &Span) -> &'a str {
    let lock: Option<&Lock> = span.lock.and_then(|lock| process.locks.get(lock));
    lock.map_or_else(|| primitive(span.op.primitive()), |lock| &lock.name)
}

/// A thread's name, or its ID if it has no name.
pub fn thread_name(process: &Process, thread: usize) -> String {
    let thread = &process.threads[thread];
    if thread.name.is_empty() { format!("thread {}", thread.tid) } else { thread.name.clone() }
}
