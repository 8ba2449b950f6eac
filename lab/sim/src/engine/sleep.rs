//! Threads that sleep on a word, as with the kernel's futexes.

use rustc_hash::FxHashMap;

use super::{Engine, Then, ThreadId};

/// The threads that sleep on each address, in the order in which they fell asleep.
#[derive(Default)]
pub struct Sleepers(FxHashMap<usize, Vec<Sleeper>>);

struct Sleeper {
    thread: ThreadId,
    key: u32,
}

impl Engine<'_> {
    /// Lets the current thread sleep on an address under a key, until another thread wakes it or
    /// until the time `deadline`, in seconds from the simulation's start.
    pub(crate) fn park(&mut self, address: usize, key: u32, deadline: Option<f64>) -> Then {
        let thread = self.current;
        self.sleepers.0.entry(address).or_default().push(Sleeper { thread, key });
        let state = &mut self.threads[thread as usize];
        (state.looks_at, state.asleep) = (None, true);
        state.stops();
        self.leave_processor(thread);
        if let Some(deadline) = deadline {
            // If another thread wakes this one before the deadline, this thread has gone on by
            // then, so that this event is stale.
            let at = self.machine.in_cycles(deadline).max(self.now);
            self.plan(at, thread);
        }
        self.suspend()
    }

    /// Removes the current thread from the sleepers of an address, after another thread or the
    /// deadline has woken it.
    pub(crate) fn awake(&mut self, address: usize) {
        let thread = self.current;
        if let Some(sleepers) = self.sleepers.0.get_mut(&address) {
            sleepers.retain(|sleeper| sleeper.thread != thread);
        }
    }

    /// Wakes at most `count` of the threads that sleep on an address under this key, or under any
    /// key if `key` is `None`.
    pub(crate) fn unpark(&mut self, address: usize, key: Option<u32>, count: u32) {
        let Some(sleepers) = self.sleepers.0.get_mut(&address) else { return };
        let mut woken = Vec::new();
        sleepers.retain(|sleeper| {
            let wake = woken.len() < count as usize && key.is_none_or(|key| key == sleeper.key);
            if wake {
                woken.push(sleeper.thread);
            }
            !wake
        });
        if sleepers.is_empty() {
            self.sleepers.0.remove(&address);
        }
        let wake = self.machine.in_cycles(self.machine.description.scheduler.wake);
        for thread in woken {
            self.plan(self.now + wake, thread);
        }
    }
}
