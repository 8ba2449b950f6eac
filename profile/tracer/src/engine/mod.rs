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

pub mod address_set;
pub mod block;
mod code;
pub mod context;
mod dispatch;
mod emit;
mod enter;
mod exits;
mod index;
mod library;
pub mod open;
mod operands;
pub mod replay;
mod rseq;
mod system_calls;
mod translate;

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::interpose::sandbox;
use crate::section;
use iced_x86::{Encoder, InstructionInfoFactory};
use syncline_trace::layout::ObjectRecord;

use block::Block;
use code::Code;
use context::{BLOCKS, Context, SUSPENDED, TABLE};
use emit::Emitter;
use exits::Exits;
use index::Index;
use open::Open;
use replay::{EVENT, Event, Sections};
use translate::{BLOCK_ROOM, Translator};

use crate::section::Choice;

/// The part of a context that only Rust code uses.
pub struct Engine {
    /// What is known of the program's sections that are being traced.
    pub sections: Sections,
    /// The locks whose sections are open, with how often each is held.
    pub held: Vec<(u64, u32)>,
    /// Why the section is traced in which all others lie.
    pub choice: Choice,
    /// A handler of the program ran in the middle and used a lock.
    pub handler_ran: bool,
    /// The thread's processor time when the context was taken, in nanoseconds; none if what this
    /// section costs is not measured.
    pub began: Option<u64>,
    /// Of its time since then, what system calls of the program took.
    pub in_kernel: u64,
    /// Why the program is to be left alone, once the engine is left.
    pub forbids: Option<&'static str>,
    /// Others waited for the end of a section.
    pub others_waited: bool,
    /// Blocks of the heap that a section touched, while its record is made.
    pub objects: Vec<ObjectRecord>,
    blocks: Vec<Block>,
    code: Code,
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
            choice: Choice::Drawn,
            handler_ran: false,
            began: None,
            in_kernel: 0,
            forbids: None,
            others_waited: false,
            objects: Vec::new(),
            blocks: Vec::new(),
            code: Code::new(),
            index: Index::new(),
            exits: Exits::new(),
            generation: 0,
            at: 0,
            factory: InstructionInfoFactory::new(),
            encoder: Encoder::new(64),
            pending: None,
        }
    }

    /// How many blocks are translated.
    pub fn count(&self) -> usize {
        self.blocks.len()
    }
}

/// Makes the first context and what the decoder needs, which takes a millisecond that no section
/// should take longer for.
pub fn warm_up(thread: u32) {
    /// Goes into the cache and is never run.
    extern "C" fn nothing() {}
    static WARM: AtomicBool = AtomicBool::new(false);
    if WARM.swap(true, Relaxed) {
        return;
    }
    if let Some(context) = Context::take(thread) {
        let _ = context.translate(nothing as *const () as u64);
        context.give_back();
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
        engine.code.forget();
        engine.index.clear();
        engine.exits.begin(&mut emit);
        engine.at = emit.at;
    }

    /// Reads what was logged, and writes the sections that have ended.
    pub fn drain(&mut self) {
        let (top, bottom) = (self.log_top(), self.log);
        let Engine { sections, objects, blocks, .. } = self.engine();
        let stack = sections.stack;
        let mut write = |open: &mut Open| section::write(open, stack, objects);
        sections.write_done(&mut write);
        // SAFETY: the log of this context, made by its blocks.
        unsafe { sections.replay(blocks, (top, bottom), false, Some(&mut write)) };
        self.empty_log();
    }

    /// Reads what was logged, where nothing may be written. Of the last entry nothing, if that block
    /// was interrupted in the middle: which of its words are there is not known.
    pub fn drain_but(&mut self, interrupted: bool) {
        let (top, bottom) = (self.log_top(), self.log);
        let Engine { sections, blocks, .. } = self.engine();
        // SAFETY: the log of this context, made by its blocks.
        unsafe { sections.replay(blocks, (top, bottom), interrupted, None) };
        self.empty_log();
    }

    /// Logs an event.
    pub fn happened(&mut self, event: Event) {
        // Whoever says so may be changing what is kept for the thread.
        if !self.has_room() {
            self.drain_but(false);
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
        if self.cache_end() - self.engine().at < BLOCK_ROOM || self.engine().count() == BLOCKS {
            self.drain();
            self.recycle();
        }
        let host = if target == sandbox::syscall as *const () as u64 {
            // The engine sees each system call by itself.
            self.translate(sandbox::behind())
        } else if library::contains(target) {
            let mut emit = self.emitter();
            let host = emit.at;
            self.engine().exits.call_library(&mut emit, target);
            self.engine().at = emit.at;
            host
        } else {
            self.translate(target)
        };
        self.engine().index.insert(target, host);
        self.table()[usize::from(target as u16)] = [target, host];
        host
    }

    fn emitter(&mut self) -> Emitter {
        let context = (&raw const *self).addr() as u64;
        Emitter { context, at: self.engine().at }
    }

    /// Translates the block at an address, for which there is room.
    fn translate(&mut self, target: u64) -> u64 {
        let emit = self.emitter();
        let engine = self.engine();
        let id = engine.blocks.len() as u32;
        let steady = engine.code.is_steady(target);
        let mut translator =
            Translator::new(emit, steady, &mut engine.factory, &mut engine.encoder);
        let block = translator.block(target, id, &mut engine.exits);
        engine.at = translator.emit.at;
        let host = block.host;
        engine.blocks.push(block);
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
        // The function may have waited for another thread, which may have changed code.
        self.doubt_code();
        self.suspended_at = caller.addr() as u64;
        self.state = SUSPENDED;
    }

    /// The return address of a function of this library that the section calls.
    pub fn resumes_at(&self) -> u64 {
        // SAFETY: made with the context, and used by its owner only.
        unsafe { (*self.engine).exits.resume }
    }

    /// How often the cache was emptied.
    fn generation(&mut self) -> u64 {
        self.engine().generation
    }
}
