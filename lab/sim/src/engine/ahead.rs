//! How far a core runs ahead of what it waits for.
//!
//! A core does not wait for an access before it begins the next one, as long as it can foresee
//! which one that is: it needs the address, and the branches in between have to be predicted. So
//! the requests for several lines are on their way at once. The accesses take effect one after the
//! other all the same, in the order of the program: a request that was made early makes its access
//! shorter, and nothing else.
//!
//! A thread of the simulation is always at the access that takes effect next. When its core would
//! have requested the line is kept here: a moment that may lie in the past.

use std::collections::VecDeque;

use super::{Engine, Thread};

/// What a core has begun.
#[derive(Default)]
pub struct Ahead {
    /// When it can begin the next access; `None` if it first has to wait for all that is under way.
    from: Option<u64>,
    /// When each of the accesses under way is over, in their order.
    over: VecDeque<u64>,
    /// The next access is a look of a thread that waits. When the value comes it is waited for, the
    /// branch was predicted wrongly, and nothing behind it has begun.
    looks: bool,
}

impl Thread {
    /// The core knows nothing of what comes next until all that is under way is over: an address has
    /// been loaded, there was a fence, or time has passed otherwise.
    #[inline]
    pub fn stops(&mut self) {
        self.ahead.from = None;
        self.ahead.over.clear();
    }

    /// The thread looks again after a pause.
    #[inline]
    pub fn looks_again(&mut self) {
        self.stops();
        self.ahead.looks = true;
    }
}

impl Engine<'_> {
    /// When the core of the current thread has begun the access that takes effect next.
    #[inline]
    pub(super) fn begun(&mut self) -> u64 {
        let most = self.machine.under_way();
        if most == 1 {
            return self.now;
        }
        let ahead = &mut self.threads[self.current as usize].ahead;
        let free = if ahead.over.len() < most { None } else { ahead.over.pop_front() };
        ahead.from.map_or(self.now, |from| from.max(free.unwrap_or(0)).min(self.now))
    }

    /// An access that the current thread's core has begun at one moment, with these cycles of
    /// instructions, is over at another.
    #[inline]
    pub(super) fn goes_on(&mut self, begun: u64, instructions: u64, over: u64) {
        if self.machine.under_way() == 1 {
            return;
        }
        let ahead = &mut self.threads[self.current as usize].ahead;
        ahead.from = Some(begun + instructions.max(1));
        ahead.over.push_back(over);
    }

    /// The same of an access whose value may be what the thread has waited for.
    #[inline]
    pub(super) fn goes_on_after(&mut self, begun: u64, instructions: u64, over: u64) {
        let thread = &mut self.threads[self.current as usize];
        match std::mem::take(&mut thread.ahead.looks) {
            true => thread.stops(),
            false => self.goes_on(begun, instructions, over),
        }
    }

    /// What the current thread does next needs what it has just loaded.
    #[inline]
    pub(crate) fn depends(&mut self) {
        if self.machine.under_way() > 1 {
            self.threads[self.current as usize].stops();
        }
    }
}
