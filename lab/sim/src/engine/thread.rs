//! What the engine knows of a simulated thread.

use corosensei::Yielder;

use super::access::Kept;
use super::ahead::Ahead;
use super::buffer::Buffer;

/// A simulated thread.
pub struct Thread {
    /// Lets others run; none before it has begun.
    pub yielder: *const Yielder<(), ()>,
    /// The hardware thread that it runs on, and its cache.
    pub processor: u32,
    pub cache: u32,
    /// It stays there.
    pub pinned: bool,
    /// How often it went on.
    pub went_on: u32,
    /// It may go on, and has no processor.
    pub due: bool,
    /// It does not even want one.
    pub asleep: bool,
    /// The line that it looked at, with no other access and no delay since.
    pub looks_at: Option<u32>,
    /// The line that it writes to, or has written to last.
    pub writes_to: Option<u32>,
    /// The line that it has used last.
    pub kept: Option<Kept>,
    /// Its stores that have not taken effect.
    pub buffer: Buffer,
    /// What its core has begun.
    pub ahead: Ahead,
    /// When the instructions of its latest access were over, and how long they took.
    pub instructions: (u64, u64),
    /// It has asked for the time: its waits may have deadlines.
    pub asked_time: bool,
    /// Its body has returned.
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
