//! Stores that wait in a buffer while their thread continues.
//!
//! A thread's plain stores leave its buffer in program order, one line at a time. The first store
//! requests its line and takes effect when the line has served it; only then does the next store
//! request its line. If the core may have several accesses under way, each store requests its line
//! at once instead. It takes effect after the stores before it; if its line has arrived but left
//! again by then, it requests the line again.
//!
//! On machines whose lines travel to the core, stores that directly follow a store to the same line
//! in the buffer take effect together with it. On machines whose stores go out to the last-level
//! cache, this holds only for stores that were in the buffer when the first one requested the line;
//! later stores to the line form the next group.
//!
//! A load overtakes stores to other lines. A load from a line to which buffered stores write waits
//! until these stores have taken effect; a real core would forward the value if the load reads the
//! same word. An atomic operation, a fence, and any system call wait until the buffer is empty.
//! This is total store order, as on x86 and SPARC.
//!
//! The memory of a word holds the latest stored value at once, since the word may no longer exist
//! when the store takes effect. Until then, the engine keeps the old value for loads.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::queue::Whom;
use super::{Engine, Then, ThreadId};
use crate::machine::Access;

/// The stores of a thread that have not taken effect.
#[derive(Default)]
pub struct Buffer {
    stores: VecDeque<Stored>,
    /// The number of stores that were in the buffer when the first of them requested its line.
    asked: usize,
    /// The condition for which the thread waits; `None` if it does not wait.
    waits: Option<Until>,
}

struct Stored {
    line: u32,
    /// The cache of the core that made the store.
    cache: u32,
    /// Cycles of the instructions that belong to the store.
    instructions: u64,
    /// The cycle in which the store's line arrives; `None` if the store did not request it when it
    /// entered the buffer.
    arrives: Option<u64>,
    /// The word's address; `None` if the word no longer exists, or if the line is only fetched.
    word: Option<usize>,
    value: u64,
}

/// A condition for which a thread waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// The buffer is empty.
    Empty,
    /// No store to this line is in the buffer.
    WithoutLine(u32),
    /// The buffer has room for one more store.
    Room,
}

/// The value that loads see in a word to which a buffered store writes.
struct Hidden {
    visible: u64,
    /// The thread that made the stores. Two threads never have buffered stores to one word.
    owner: ThreadId,
    stores: u32,
}

/// The words to which buffered stores write, by address.
#[derive(Default)]
pub struct Words(FxHashMap<usize, Hidden>);

/// The way in which a store proceeds.
pub(crate) enum Storing {
    /// The thread has to wait, and then try the store again.
    Wait(Then),
    /// The store is in the buffer.
    Buffered(Then),
    /// The store bypasses the buffer, which is empty.
    Now,
}

impl Engine<'_> {
    /// Suspends the current thread until its buffer fulfils this condition; `None` if it already
    /// does. After the wait, the caller has to check again.
    pub(crate) fn wait_until(&mut self, until: Until) -> Option<Then> {
        let room = self.machine.store_buffer();
        let buffer = &mut self.threads[self.current as usize].buffer;
        if buffer.stores.is_empty() || buffer.is(until, room) {
            return None;
        }
        buffer.waits = Some(until);
        Some(self.suspend())
    }

    /// Suspends the current thread while its buffer has a store to the line of an address; `None`
    /// if it has none.
    pub(crate) fn wait_for_line(&mut self, address: usize) -> Option<Then> {
        if self.threads[self.current as usize].buffer.stores.is_empty() {
            return None;
        }
        let line = self.line_of(address);
        self.wait_until(Until::WithoutLine(line))
    }

    /// Makes a plain store of the current thread to a word whose memory holds `old`.
    pub(crate) fn store(&mut self, word: usize, old: u64, value: u64) -> Storing {
        let room = self.machine.store_buffer();
        if room == 0 {
            return Storing::Now;
        }
        let line = self.line_of(word);
        let empty = self.threads[self.current as usize].buffer.stores.is_empty();
        if empty && self.is_at_hand(line) {
            return Storing::Now;
        }
        // Buffered stores of two threads to one word could take effect in either order, so the
        // word's memory could not hold the last value in advance.
        if self.words.0.get(&word).is_some_and(|hidden| hidden.owner != self.current) {
            return self.wait_until(Until::Empty).map_or(Storing::Now, Storing::Wait);
        }
        if let Some(then) = self.wait_until(Until::Room) {
            return Storing::Wait(then);
        }
        self.words_of_access = 1;
        let owner = self.current;
        let hidden = self.words.0.entry(word).or_insert(Hidden { visible: old, owner, stores: 0 });
        hidden.stores += 1;
        let instructions = self.instructions();
        let at = self.queue(line, Some(word), value, instructions);
        let thread = &mut self.threads[owner as usize];
        thread.instructions = (at, instructions.min(at - self.now));
        (thread.looks_at, thread.writes_to, thread.kept) = (None, None, None);
        Storing::Buffered(self.pass_until(at))
    }

    /// Lets the current thread's core request a line for writing, without waiting for the line.
    pub(super) fn ask_ahead(&mut self, address: usize) -> Then {
        let line = self.line_of(address);
        let room =
            self.threads[self.current as usize].buffer.is(Until::Room, self.machine.store_buffer());
        if !self.is_at_hand(line) && room {
            self.queue(line, None, 0, 0);
        }
        Then::GoOn
    }

    /// Appends a store to the current thread's buffer, and returns the cycle in which the thread
    /// goes on.
    fn queue(&mut self, line: u32, word: Option<usize>, value: u64, instructions: u64) -> u64 {
        self.accesses += 1;
        let (owner, begun) = (self.current, self.begun());
        let cache = self.threads[owner as usize].cache;
        let ahead = self.machine.under_way() > 1;
        let arrives = ahead.then(|| self.reach_line(Access::Store, line, cache as usize, begun));
        let at = if ahead { self.now.max(begun + instructions) } else { self.now + instructions };
        self.goes_on(begun, instructions, arrives.unwrap_or(at));
        let stores = &mut self.threads[owner as usize].buffer.stores;
        stores.push_back(Stored { line, cache, instructions, arrives, word, value });
        if stores.len() == 1 {
            self.ask_for_line(owner);
        }
        at
    }

    /// Lets the first store of a thread's buffer request its line, and plans when it takes effect.
    fn ask_for_line(&mut self, thread: ThreadId) {
        let buffer = &mut self.threads[thread as usize].buffer;
        buffer.asked = buffer.stores.len();
        let Some(first) = buffer.stores.front() else { return };
        let (line, cache, instructions) = (first.line, first.cache as usize, first.instructions);
        let at = match first.arrives {
            Some(at) if at > self.now || self.lines[line as usize].suits(Access::Store, cache) => {
                at.max(self.now)
            }
            _ => self.reach_line(Access::Store, line, cache, self.now) + instructions,
        };
        // The store is planned before `write` plans the wake-ups of the threads that watch the
        // line, because the store has to come first if both events are in the same cycle.
        self.events.plan(at, Whom::Buffer(thread));
        self.write(line, at);
    }

    /// Lets the first stores of a thread's buffer, which write to the same line, take effect.
    pub(super) fn take_effect(&mut self, owner: ThreadId) {
        let travels = self.machine.local(Access::Store).is_some();
        let buffer = &mut self.threads[owner as usize].buffer;
        let Some(first) = buffer.stores.front() else { return };
        let (line, instructions) = (first.line, first.instructions);
        let together = buffer.stores.iter().take_while(|store| store.line == line).count();
        let together = if travels { together } else { together.min(buffer.asked) };
        for store in buffer.stores.drain(..together) {
            let Some(word) = store.word else { continue };
            let Some(hidden) = self.words.0.get_mut(&word) else { continue };
            hidden.visible = store.value;
            hidden.stores -= 1;
            if hidden.stores == 0 {
                self.words.0.remove(&word);
            }
        }
        let room = self.machine.store_buffer();
        let over = buffer.waits.is_some_and(|until| buffer.is(until, room));
        let more = !buffer.stores.is_empty();
        if over {
            buffer.waits = None;
            self.threads[owner as usize].instructions = (self.now, instructions);
            if travels {
                self.keep(owner, line);
            }
            self.plan(self.now, owner);
        }
        if more {
            self.ask_for_line(owner);
        }
    }

    /// The word's value for threads that load the word now; `None` if no buffered store writes to
    /// the word, so that its memory has the value.
    #[inline]
    pub(crate) fn visible(&mut self, word: usize) -> Option<&mut u64> {
        if self.words.0.is_empty() {
            return None;
        }
        self.words.0.get_mut(&word).map(|hidden| &mut hidden.visible)
    }

    /// Forgets a word that no longer exists, so that buffered stores to it have no effect.
    #[inline]
    pub(crate) fn forget(&mut self, word: usize) {
        if self.words.0.is_empty() {
            return;
        }
        let Some(hidden) = self.words.0.remove(&word) else { return };
        for store in &mut self.threads[hidden.owner as usize].buffer.stores {
            store.word = store.word.filter(|&other| other != word);
        }
    }
}

impl Buffer {
    fn is(&self, until: Until, room: usize) -> bool {
        match until {
            Until::Empty => self.stores.is_empty(),
            Until::WithoutLine(line) => self.stores.iter().all(|store| store.line != line),
            Until::Room => self.stores.len() < room,
        }
    }
}
