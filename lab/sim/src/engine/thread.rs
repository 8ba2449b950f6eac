//! The engine's data about a simulated thread.

use corosensei::Yielder;

use super::access::Kept;
use super::ahead::Ahead;
use super::buffer::Buffer;

/// A simulated thread.
pub struct Thread {
    /// Suspends the coroutine; null before the thread has begun.
    pub yielder: *const Yielder<(), ()>,
    /// The hardware thread on which this thread runs, and that hardware thread's cache.
    pub processor: u32,
    pub cache: u32,
    /// Whether this thread stays on that hardware thread.
    pub pinned: bool,
    /// The number of times that this thread has gone on.
    pub went_on: u32,
    /// Whether this thread could go on, but has no processor.
    pub due: bool,
    /// Whether this thread sleeps, so that it needs no processor.
    pub asleep: bool,
    /// The line that this thread has read last; `None` if it has made another access or a delay
    /// since then.
    pub looks_at: Option<u32>,
    /// The line of this thread's latest access, if that access is a write that does not go to the
    /// store buffer; otherwise `None`.
    pub writes_to: Option<u32>,
    /// The line that this thread has used last.
    pub kept: Option<Kept>,
    /// The stores of this thread that have not taken effect.
    pub buffer: Buffer,
    /// The accesses that this thread's core has begun.
    pub ahead: Ahead,
    /// The cycle in which the instructions of the latest access were over, and the cycles from the
    /// end of the access itself to that cycle.
    pub instructions: (u64, u64),
    /// Whether this thread has ever asked for the time, so that its waits may have deadlines.
    pub asked_time: bool,
    /// Whether the thread's body has returned.
    pub done: bool,
}

impl Thread {
    /// A thread that has not begun.
    pub fn new(processor: u32, cache: u32, pinned: bool) -> Thread {
        Thread {
            yielder: std::ptr::null(),
            processor,
            cache,
            pinned,
            went_on: 0,
            due: false,
            asleep: false,
            looks_at: None,
            writes_to: None,
            kept: None,
            buffer: Buffer::default(),
            ahead: Ahead::default(),
            instructions: (0, 0),
            asked_time: false,
            done: false,
        }
    }
}
