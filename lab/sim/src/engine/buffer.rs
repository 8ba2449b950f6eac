//! Stores that wait in a buffer while their thread goes on.
//!
//! A thread's plain stores leave its buffer in their order, one line at a time: the first asks for
//! its line, takes effect when that has served it, and only then does the next one ask, unless the
//! core has several accesses under way: then each asks at once, and takes effect after those
//! before it, if its line is there by then and has not left again. Those to the same line that have queued up behind it by then take effect with it, where lines travel to
//! the core; where stores go out to the last-level cache, one that is on its way takes no further
//! one along, and those behind it go together.
//!
//! A load of another line goes ahead of them. One of a line that they write to waits until they
//! have taken effect (real cores hand it the value if it wants the same word), and an atomic
//! operation, a fence, and whatever calls the kernel wait until the buffer is empty: total store
//! order, as x86 and SPARC have it.
//!
//! A word holds what was stored last at once, since it may be gone by the time at which that takes
//! effect. Until then the engine keeps what it held before, and that is what loads see.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::{Engine, Then, ThreadId, Whom};
use crate::machine::Access;

/// The stores of a thread that have not taken effect.
#[derive(Default)]
pub struct Buffer {
    stores: VecDeque<Stored>,
    /// Of these, how many were there when the first asked for its line.
    asked: usize,
    /// What the thread waits for.
    waits: Option<Until>,
}

struct Stored {
    line: u32,
    /// The cache from which it was stored.
    cache: u32,
    /// Cycles of the instructions that come with it.
    instructions: u64,
    /// When its line is there, if it has asked already.
    arrives: Option<u64>,
    /// The word, unless that is gone, or the line is only fetched.
    word: Option<usize>,
    value: u64,
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// No store is left.
    Empty,
    /// None to this line is.
    WithoutLine(u32),
    /// There is room for one more.
    Room,
}

/// What others see of a word that a store in a buffer writes to.
struct Hidden {
    visible: u64,
    /// Whose stores these are: never those of two threads at once.
    owner: ThreadId,
    stores: u32,
}

/// The words that stores in buffers write to, by address.
#[derive(Default)]
pub struct Words(FxHashMap<usize, Hidden>);

/// What becomes of a store.
pub(crate) enum Storing {
    /// The thread has to wait, and to ask again.
    Wait(Then),
    /// It is in the buffer.
    Buffered(Then),
    /// It does not go by way of the buffer, which is empty.
    Now,
}

impl Engine<'_> {
    /// Lets the current thread wait, unless its buffer is so already; it has to ask again.
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
        // What two threads store to one word at once takes effect in no order that would be known
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

    /// The current thread's core asks for a line to write to, and goes on at once.
    pub(super) fn ask_ahead(&mut self, address: usize) -> Then {
        let line = self.line_of(address);
        let room =
            self.threads[self.current as usize].buffer.is(Until::Room, self.machine.store_buffer());
        if !self.is_at_hand(line) && room {
            self.queue(line, None, 0, 0);
        }
        Then::GoOn
    }

    /// The last of the current thread's stores, and when the thread goes on.
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

    /// The first store of a thread's buffer asks for its line.
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
        // Before the threads that watch the line are told.
        self.plan_for(at, Whom::Buffer(thread));
        self.write(line, at);
    }

    /// The first stores of a thread's buffer take effect.
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

    /// What the word of an address holds for threads that read it now, if a store that has not
    /// taken effect writes to it.
    #[inline]
    pub(crate) fn visible(&mut self, word: usize) -> Option<&mut u64> {
        if self.words.0.is_empty() {
            return None;
        }
        self.words.0.get_mut(&word).map(|hidden| &mut hidden.visible)
    }

    /// The word of an address is gone: what was stored to it changes nothing any more.
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
