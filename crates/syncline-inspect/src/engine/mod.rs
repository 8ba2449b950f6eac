//! The out-of-line executor.
//!
//! ```text
//!   a lock function returns ... into a context's code (exits.rs: `resume`)
//!        v
//!   translated blocks (translate.rs, operands.rs, emit.rs), linked to each other; they log
//!   what ran and where it accessed memory (block.rs says how to read that)
//!        |  what is not translated yet, system calls, a full log
//!        v
//!   the engine (enter.rs, dispatch.rs), on a stack of its own
//!        |
//!   a call of a function of this library leaves translated code by a jump, with the program's
//!   own return address; the function takes the section up again when it returns, or ends it
//!        v
//!   after the release: the log becomes records (replay.rs, words.rs)
//! ```

pub mod block;
pub mod context;
mod dispatch;
mod emit;
mod enter;
mod exits;
mod index;
mod library;
mod operands;
pub mod replay;
mod rseq;
mod system_calls;
mod translate;
pub mod words;

use iced_x86::{Encoder, InstructionInfoFactory};
use syncline_trace::layout::ObjectRecord;

use block::Block;
use context::{Context, SUSPENDED, TABLE};
use emit::Emitter;
use exits::Exits;
use index::Index;
use replay::{EVENT, Event, Sections};
use translate::{BLOCK_ROOM, Translator};

/// The part of a context that only Rust code uses.
pub struct Engine {
    /// What is known of the program's sections that are being traced.
    pub sections: Sections,
    /// The locks whose sections are open, with how often each is held.
    pub held: Vec<(u64, u32)>,
    /// A handler of the program ran in the middle and used a lock.
    pub handler_ran: bool,
    /// When the context was taken, in ticks.
    pub began: u64,
    /// Ticks spent in system calls since then.
    pub waited: u64,
    /// Blocks of the heap that a section touched, while its record is made.
    pub objects: Vec<ObjectRecord>,
    blocks: Vec<Block>,
    index: Index,
    exits: Exits,
    generation: u64,
    /// Where the next block goes.
    at: u64,
    factory: InstructionInfoFactory,
    encoder: Encoder,
    /// What the kernel will have written when a system call returns.
    pending: Option<system_calls::Pending>,
}

impl Engine {
    /// With an empty cache.
    pub fn new() -> Engine {
        Engine {
            sections: Sections::new(),
            held: Vec::new(),
            handler_ran: false,
            began: 0,
            waited: 0,
            objects: Vec::new(),
            blocks: Vec::new(),
            index: Index::new(),
            exits: Exits::new(),
            generation: 0,
            at: 0,
            factory: InstructionInfoFactory::new(),
            encoder: Encoder::new(64),
            pending: None,
        }
    }
}

impl Context {
    /// Empties the cache.
    pub fn recycle(&mut self) {
        let mut emit = self.cache();
        // SAFETY: the table is part of the mapping, and wholly this context's: zeros again.
        unsafe {
            let table = self.table();
            libc::madvise(table.as_mut_ptr().cast(), TABLE * 16, libc::MADV_DONTNEED);
        }
        let engine = self.engine();
        engine.sections.fold(&engine.blocks);
        engine.generation += 1;
        engine.blocks.clear();
        engine.index.clear();
        engine.exits.begin(&mut emit);
        engine.at = emit.at;
    }

    /// Reads what was logged.
    pub fn drain(&mut self) {
        let (top, bottom) = (self.log_top(), self.log);
        let engine = self.engine();
        // SAFETY: the log of this context, made by its blocks.
        unsafe { engine.sections.replay(&engine.blocks, top, bottom) };
        self.empty_log();
    }

    /// Logs an event. There is always room for some: the reserve is larger than a block.
    pub fn happened(&mut self, event: Event) {
        const ROOM: u64 = 64;
        if self.log - (self.log_top() - context::LOG as u64 - ROOM) < 4 * ROOM {
            self.drain();
        }
        let events = &mut self.engine().sections.events;
        events.push(event);
        let place = events.len() as u64 - 1;
        self.log -= 16;
        // SAFETY: the log is this context's, and has room.
        unsafe {
            (self.log as *mut u64).write(place);
            (self.log as *mut u64).add(1).write(u64::from(EVENT));
        }
    }

    /// Where an address of the program is translated.
    fn translation(&mut self, target: u64) -> u64 {
        if let Some(host) = self.engine().index.get(target) {
            self.table()[usize::from(target as u16)] = [target, host];
            return host;
        }
        if self.cache_end() - self.engine().at < BLOCK_ROOM {
            self.drain();
            self.recycle();
        }
        let context = (&raw const *self).addr() as u64;
        let engine = self.engine();
        let mut emit = Emitter { context, at: engine.at };
        let host = if library::contains(target) {
            let host = emit.at;
            engine.exits.call_library(&mut emit, target);
            engine.at = emit.at;
            host
        } else {
            let id = engine.blocks.len() as u32;
            let mut translator = Translator::new(emit, &mut engine.factory, &mut engine.encoder);
            let block = translator.block(target, id, &mut engine.exits);
            engine.at = translator.emit.at;
            let host = block.host;
            engine.blocks.push(block);
            host
        };
        engine.index.insert(target, host);
        self.table()[usize::from(target as u16)] = [target, host];
        host
    }

    /// Takes tracing up where a function of this library returns to: its return address, at
    /// `caller`, is exchanged for code that goes on there.
    ///
    /// # Safety
    /// `caller` is the stack pointer at the function's entry, and the function returns normally
    /// and soon.
    pub unsafe fn resume(&mut self, caller: *mut u64) {
        // SAFETY: by this function's own condition.
        unsafe {
            self.target = *caller;
            *caller = self.engine().exits.resume;
        }
        self.suspended_at = caller.addr() as u64;
        self.state = SUSPENDED;
    }

    /// How often the cache was emptied.
    fn generation(&mut self) -> u64 {
        self.engine().generation
    }
}
