//! How far a core runs ahead of the accesses that it waits for.
//!
//! A core begins the next access before the current one is done, if it can foresee the next one: it
//! needs the address, and it has to predict the branches in between. So requests for several lines
//! are under way at the same time. The accesses nevertheless take effect one after another, in the
//! order of the program. An early request makes its access shorter, and has no other effect.
//!
//! A simulated thread is always at the access that takes effect next. This module records the
//! moment at which the thread's core would have requested that access's line, which may be in the
//! past.

use std::collections::VecDeque;

use super::{Engine, Thread};

/// The accesses that a core has begun.
#[derive(Default)]
pub struct Ahead {
    /// The cycle from which the core can begin the next access; `None` if it first has to wait for
    /// all accesses under way.
    from: Option<u64>,
    /// The cycle in which each access under way is over, in program order.
    over: VecDeque<u64>,
    /// Whether the next access is a look (a read) of a waiting thread. When the awaited value
    /// arrives, the core has mispredicted the branch, so it has begun none of the accesses behind
    /// it.
    looks: bool,
}

impl Thread {
    /// Records that the core can't foresee the next access until all accesses under way are over:
    /// an address was loaded, there was a fence, or time has passed otherwise.
    #[inline]
    pub fn stops(&mut self) {
        self.ahead.from = None;
        self.ahead.over.clear();
    }

    /// Records that the thread looks again after a pause.
    #[inline]
    pub fn looks_again(&mut self) {
        self.stops();
        self.ahead.looks = true;
    }
}

impl Engine<'_> {
    /// The cycle in which the current thread's core has begun the access that takes effect next.
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

    /// Records an access that the current thread's core began in cycle `begun`, which has
    /// `instructions` cycles of instructions and is over in cycle `over`.
    #[inline]
    pub(super) fn goes_on(&mut self, begun: u64, instructions: u64, over: u64) {
        if self.machine.under_way() == 1 {
            return;
        }
        let ahead = &mut self.threads[self.current as usize].ahead;
        ahead.from = Some(begun + instructions.max(1));
        ahead.over.push_back(over);
    }

    /// Records an access as [`goes_on`](Self::goes_on) does. If the access was a look, stops the
    /// core instead, since the value may be the awaited one.
    #[inline]
    pub(super) fn goes_on_after(&mut self, begun: u64, instructions: u64, over: u64) {
        let thread = &mut self.threads[self.current as usize];
        match std::mem::take(&mut thread.ahead.looks) {
            true => thread.stops(),
            false => self.goes_on(begun, instructions, over),
        }
    }

    /// Records that the current thread's next step needs the value that it has just loaded.
    #[inline]
    pub(crate) fn depends(&mut self) {
        if self.machine.under_way() > 1 {
            self.threads[self.current as usize].stops();
        }
    }
}
