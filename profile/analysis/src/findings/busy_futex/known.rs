//! What threads wait for in a futex or by yielding, judged by the names of the functions that wait
//! on behalf of the call site.

use crate::model::{Process, Site};

/// What threads wait for at a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// A lock.
    Lock,
    /// An event.
    Event,
}

/// Parts of the names of functions that wait for an event. These are looked for first, because
/// conditions are made of locks.
const EVENTS: [&str; 9] = [
    "condvar",
    "cond_wait",
    "barrier",
    "semaphore",
    "channel",
    "mpmc",
    "mpsc",
    "parker",
    "thread::park",
];
/// Part of the names of functions that wait both for locks and for events; such names say nothing.
const FOR_BOTH: &str = "parking_lot_core::";
/// Parts of the names of functions that wait for a lock.
const LOCKS: [&str; 4] = ["mutex", "rwlock", "lock_slow", "lock_contended"];

impl Known {
    /// What threads wait for at this site; `None` if no function's name says so.
    pub fn of(process: &Process, site: &Site) -> Option<Known> {
        let frames = &process.stacks.get(*site.stacks.first()?)?.frames;
        let inside = frames.iter().take_while(|&&frame| Some(frame) != site.frame);
        let names = inside.map(|&frame| process.frames[frame].function.to_lowercase());
        let names: Vec<String> = names.filter(|name| !name.contains(FOR_BOTH)).collect();
        let has =
            |parts: &[&str]| names.iter().any(|name| parts.iter().any(|part| name.contains(part)));
        match (has(&EVENTS), has(&LOCKS)) {
            (true, _) => Some(Known::Event),
            (false, true) => Some(Known::Lock),
            (false, false) => None,
        }
    }
}

/// What to do about a lock that threads wait for.
pub const OF_LOCK: &str = "take it less often, hold it for less time, or use several";
/// What a recording does not show of a lock that is taken without a call.
pub const UNSEEN: &str = "How often it is taken, and which thread holds it, can't be seen: a free \
                      lock of this kind is taken without a call.";
