//! Where translated code is left, and why: into another block, into the engine, into the program.
//!
//! How that is done is written by `translate/leave.rs`.

/// Why the engine is entered: what `Context::exit` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Exit {
    /// A jump to a known address leads to code that is not linked yet; the link's number.
    Link,
    /// The table does not know `Context::target`.
    LookUp,
    /// There is no room in the log for this block.
    Full,
    /// The program's code of this block has changed.
    Stale,
    /// Before the system call of this site.
    BeforeCall,
    /// After it.
    AfterCall,
    /// Tracing ends at [`Exits::stops`] of this number.
    Stop,
}

impl Exit {
    /// The exit of a number that translated code stored.
    pub fn of(number: u64) -> Exit {
        use Exit::*;
        [Link, LookUp, Full, Stale, BeforeCall, AfterCall, Stop][number as usize]
    }
}

/// Why tracing stops: an instruction that is not followed.
pub const UNKNOWN: u32 = syncline_trace::layout::STOP_UNKNOWN;

/// A jump that leads to the engine until its target is translated.
#[derive(Clone, Copy)]
pub struct Link {
    /// Where the jump is.
    pub at: u64,
    /// Where the program goes.
    pub target: u64,
}

/// A system call of the program.
#[derive(Clone, Copy)]
pub struct Site {
    /// Its address in the program.
    pub instruction: u64,
    /// The one behind it.
    pub next: u64,
    /// Where it is executed.
    pub host: u64,
}

/// What exits refer to by number.
pub struct Exits {
    /// Leads into the engine, with why and what about it stored.
    pub common: u64,
    /// Leads to `Context::target`, wherever it is.
    pub resume: u64,
    /// Jumps that may have to be linked.
    pub links: Vec<Link>,
    /// System calls.
    pub sites: Vec<Site>,
    /// Where tracing stops, and why.
    pub stops: Vec<(u64, u32)>,
}

impl Exits {
    /// Nothing is known yet.
    pub fn new() -> Exits {
        Exits { common: 0, resume: 0, links: Vec::new(), sites: Vec::new(), stops: Vec::new() }
    }
}
