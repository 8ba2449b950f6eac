//! What the engine knows about a simulated thread.

use corosensei::Yielder;

use super::access::Kept;
use super::ahead::Ahead;
use super::buffer::Buffer;

/// A simulated thread.
pub struct Thread {
    /// Suspends the coroutine; null before the thread has begun.
    pub yielder: *const Yielder<(), ()>,
    /// The hardware thread that it runs on, and that thread's cache.
    pub processor: u32,
    pub cache: u32,
    /// Whether it stays on that hardware thread.
    pub pinned: bool,
    /// How often it has gone on.
    pub went_on: u32,
    /// Whether it could go on, but has no processor.
    pub due: bool,
    /// Whether it sleeps, and doesn't want a processor.
    pub asleep: bool,
    /// The line that it has read last, with no other access and no delay since.
    pub looks_at: Option<u32>,
    /// The line that it writes to, or has written to last.
    pub writes_to: Option<u32>,
    /// The line that it has used last.
    pub kept: Option<Kept>,
    /// Its stores that have not taken effect.
    pub buffer: Buffer,
    /// The accesses that its core has begun.
    pub ahead: Ahead,
    /// The cycle in which the instructions of its latest access were over, and how many cycles they
    /// took.
    pub instructions: (u64, u64),
    /// Whether it has asked for the time: its waits may have deadlines.
    pub asked_time: bool,
    /// Whether its body has returned.
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
