//! The engine, which executes a copy of the program's code and logs its accesses to memory.
//!
//! ```text
//!   a lock function returns ... into a context's code (cache.rs: `resume`)
//!        v
//!   translated blocks (translate, operands.rs, emit.rs), linked to each other; they log
//!   that they ran and which memory they accessed (block.rs describes the log)
//!        |  missing translations, system calls, a full log (exits.rs)
//!        v
//!   `crate::dispatch` handles the exit, on the context's stack
//!        |
//!   a call of a function of this library leaves translated code by a jump, with the program's
//!   own return address; the function resumes tracing when it returns, or ends the section
//!        v
//!   after the release: the log becomes records (replay.rs, open.rs)
//! ```
//!
//! The engine's callers decide which sections are traced and what happens to their records. The
//! engine knows nothing of the process, its threads or its file.

pub mod address_set;
pub mod block;
pub mod cache;
pub mod choice;
mod code;
pub mod context;
pub mod emit;
pub mod exits;
mod index;
mod log;
pub mod open;
mod operands;
pub mod pending;
mod processor;
pub mod replay;
mod rseq;
mod touched;
pub mod translate;

use iced_x86::{Encoder, InstructionInfoFactory};
use syncline_trace::layout::ObjectRecord;

use block::Block;
use choice::Choice;
use code::Code;
use exits::Exits;
use index::Index;
use pending::Pending;
use replay::Sections;
use rseq::Rseq;

/// The part of a context that only Rust code uses.
pub struct Engine {
    /// The state of the program's sections that are being traced.
    pub sections: Sections,
    /// The locks whose sections are open, and how many times each is held.
    pub held: Vec<(u64, u32)>,
    /// Why the section for which the context was taken is traced.
    pub choice: Choice,
    /// Whether a signal handler of the program interrupted the section and used a lock.
    pub handler_ran: bool,
    /// The thread's processor time when the context was taken, in nanoseconds; `None` if the cost
    /// of this section is not measured.
    pub began: Option<u64>,
    /// The part of the thread's processor time since then that system calls of the program took.
    pub in_kernel: u64,
    /// Why the program is to be left alone when the engine returns; `None` if it is not.
    pub forbids: Option<&'static str>,
    /// Whether other threads waited for the end of a section.
    pub others_waited: bool,
    /// The blocks of the heap that a section touched; filled while its record is made.
    pub objects: Vec<ObjectRecord>,
    /// The blocks in the cache, by number.
    pub blocks: Vec<Block>,
    /// The mappings of code, which say whether the program's code may change.
    pub code: Code,
    /// The translations, by the program's addresses.
    pub index: Index,
    /// The exits of translated code.
    pub exits: Exits,
    /// How often the cache was emptied.
    pub generation: u64,
    /// The address in the cache at which the next block is written.
    pub at: u64,
    /// The system call that has not returned yet; `None` if there is none.
    pub pending: Option<Pending>,
    rseq: Rseq,
    factory: InstructionInfoFactory,
    encoder: Encoder,
}

impl Engine {
    /// An engine with an empty cache.
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
            pending: None,
            rseq: Rseq::new(),
            factory: InstructionInfoFactory::new(),
            encoder: Encoder::new(64),
        }
    }

    /// How many blocks are translated.
    pub fn count(&self) -> usize {
        self.blocks.len()
    }
}
