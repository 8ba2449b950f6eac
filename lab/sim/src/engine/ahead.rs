//! Cores that run ahead of the accesses for which they wait.
//!
//! A core begins the next access before the current one is done if it can foresee the next one: it
//! must know the address, and predict the branches in between. So requests for several lines are
//! under way at the same time. The accesses still take effect one after another, in program order.
//! An early request makes its access shorter, and has no other effect.
//!
//! A simulated thread is always at the access that takes effect next. This module computes in which
//! cycle the thread's core has requested that access's line, which may be in the past.

use std::collections::VecDeque;

use super::{Engine, Thread};

/// The accesses of one thread that its core has begun.
#[derive(Default)]
pub struct Ahead {
    /// The cycle from which the core can begin the next access; `None` if the core first has to
    /// wait for all accesses under way.
    from: Option<u64>,
    /// The cycle in which each access under way is over, in program order.
    over: VecDeque<u64>,
    /// Whether the next access is a look (a read) of a waiting thread. When the look returns the
    /// awaited value, the core has mispredicted the branch, so it has begun none of the accesses
    /// after the look.
    looks: bool,
}

impl Thread {
    /// Records that the core can't begin the next access until all accesses under way are over: the
    /// next one depends on a loaded value, there was a fence, or the thread paused.
    #[inline]
    pub fn stops(&mut self) {
        self.ahead.from = None;
        self.ahead.over.clear();
    }

    /// Records that the thread's next access is another look, after a pause.
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

    /// Records an access as [`goes_on`](Self::goes_on) does. But if the access was a look, stops
    /// the core, since the value may be the awaited one.
    #[inline]
    pub(super) fn goes_on_after(&mut self, begun: u64, instructions: u64, over: u64) {
        let thread = &mut self.threads[self.current as usize];
        match std::mem::take(&mut thread.ahead.looks) {
            true => thread.stops(),
            false => self.goes_on(begun, instructions, over),
        }
    }

    /// Records that the current thread's next step needs the value that the thread has just loaded.
    #[inline]
    pub(crate) fn depends(&mut self) {
        if self.machine.under_way() > 1 {
            self.threads[self.current as usize].stops();
        }
    }
}
