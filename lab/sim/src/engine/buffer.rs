//! Stores that wait in a buffer while their thread goes on.
//!
//! A thread's plain stores leave its buffer in program order, one line at a time. The first store
//! asks for its line and takes effect when the line has served it; only then does the next store
//! ask. If the core may have several accesses under way, each store asks at once instead. It takes
//! effect after the stores before it, if its line has arrived by then and has not left again.
//!
//! Where lines travel to the core, a store that takes effect takes the stores to the same line with
//! it that are directly behind it in the buffer. Where stores go out to the last-level cache, it
//! takes only those with it that were in the buffer when it asked for the line; the later ones go
//! together next.
//!
//! A load overtakes stores to other lines. A load of a line that buffered stores write to waits
//! until they have taken effect; a real core forwards the value if the load reads the same word. An
//! atomic operation, a fence, and any system call wait until the buffer is empty. This is total
//! store order, as on x86 and SPARC.
//!
//! A word's memory holds the latest stored value at once, since the word may be gone when the store
//! takes effect. Until the store takes effect, the engine keeps the old value, and loads see that
//! one.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::queue::Whom;
use super::{Engine, Then, ThreadId};
use crate::machine::Access;

/// The stores of a thread that have not taken effect.
#[derive(Default)]
pub struct Buffer {
    stores: VecDeque<Stored>,
    /// The number of stores in the buffer when the first of them asked for its line.
    asked: usize,
    /// What the thread waits for, if it does.
    waits: Option<Until>,
}

struct Stored {
    line: u32,
    /// The cache of the core that made the store.
    cache: u32,
    /// Cycles of the instructions that come with the store.
    instructions: u64,
    /// The cycle in which its line arrives, if it has asked already.
    arrives: Option<u64>,
    /// The word; `None` if the word is gone, or if the line is only fetched.
    word: Option<usize>,
    value: u64,
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Until the buffer is empty.
    Empty,
    /// Until no store to this line is in the buffer.
    WithoutLine(u32),
    /// Until there is room for one more store.
    Room,
}

/// What other threads see of a word that a buffered store writes to.
struct Hidden {
    visible: u64,
    /// The thread whose stores these are. Two threads never have buffered stores to one word.
    owner: ThreadId,
    stores: u32,
}

/// The words that stores in buffers write to, by address.
#[derive(Default)]
pub struct Words(FxHashMap<usize, Hidden>);

/// What happens with a store.
pub(crate) enum Storing {
    /// The thread has to wait, and then to try again.
    Wait(Then),
    /// The store is in the buffer.
    Buffered(Then),
    /// The store bypasses the buffer, which is empty.
    Now,
}

impl Engine<'_> {
    /// Lets the current thread wait until its buffer is in this condition; `None` if it is already.
    /// After the wait, the thread has to ask again.
    pub(crate) fn wait_until(&mut self, until: Until) -> Option<Then> {
        let room = self.machine.store_buffer();
        let buffer = &mut self.threads[self.current as usize].buffer;
        if buffer.stores.is_empty() || buffer.is(until, room) {
            return None;
        }
        buffer.waits = Some(until);
        Some(self.suspend())
    }

    /// Lets the current thread wait while a store to the line of an address is in its buffer.
    pub(crate) fn wait_for_line(&mut self, address: usize) -> Option<Then> {
        if self.threads[self.current as usize].buffer.stores.is_empty() {
            return None;
        }
        let line = self.line_of(address);
        self.wait_until(Until::WithoutLine(line))
    }

    /// A plain store of the current thread to a word that holds `old`.
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
        // Stores of two threads to one word would take effect in an order that isn't known
        // beforehand.
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

    /// The current thread's core asks for a line to write to, without waiting for it.
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

    /// Lets the first store of a thread's buffer ask for its line.
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
        // Planned before `write` plans the wake-ups of the threads that watch the line: of two
        // events at one time, the store has to come first.
        self.events.plan(at, Whom::Buffer(thread));
        self.write(line, at);
    }

    /// Lets the first stores of a thread's buffer take effect.
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

    /// The value of a word for threads that load it now, if a buffered store writes to the word.
    #[inline]
    pub(crate) fn visible(&mut self, word: usize) -> Option<&mut u64> {
        if self.words.0.is_empty() {
            return None;
        }
        self.words.0.get_mut(&word).map(|hidden| &mut hidden.visible)
    }

    /// Forgets a word that is gone: buffered stores to it have no effect any more.
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
