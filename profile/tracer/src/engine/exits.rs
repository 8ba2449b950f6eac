//! The exits of translated code: into another block, into the engine, into the program.
//!
//! `translate/leave.rs` writes the code of the exits.

/// The reason why the engine is entered, as `Context::exit` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Exit {
    /// A jump to a known address is not linked yet. The argument is the link's index.
    Link,
    /// The table does not know `Context::target`.
    LookUp,
    /// There is no room in the log for this block.
    Full,
    /// The program's code of the block has changed.
    Stale,
    /// A system call is about to be made. The argument is its site's index.
    BeforeCall,
    /// A system call has returned. The argument is its site's index.
    AfterCall,
    /// Tracing ends. The argument is an index of [`Exits::stops`].
    Stop,
}

impl Exit {
    /// The exit for a number that translated code stored.
    pub fn of(number: u64) -> Exit {
        use Exit::*;
        [Link, LookUp, Full, Stale, BeforeCall, AfterCall, Stop][number as usize]
    }
}

/// The reason for a stop at an instruction that is not followed.
pub const UNKNOWN: u32 = syncline_trace::layout::STOP_UNKNOWN;

/// A jump that leads to the engine until its target is translated.
#[derive(Clone, Copy)]
pub struct Link {
    /// The address of the jump in the cache.
    pub at: u64,
    /// The address of the program to which the jump leads.
    pub target: u64,
}

/// A system call of the program.
#[derive(Clone, Copy)]
pub struct Site {
    /// The address of the system call in the program.
    pub instruction: u64,
    /// The address of the instruction after it.
    pub next: u64,
    /// The address of the system call's copy in the cache, which is executed.
    pub host: u64,
}

/// The code that exits share, and the lists to which they refer by index.
pub struct Exits {
    /// The address of code that enters the engine, after the reason and its argument were stored.
    pub common: u64,
    /// The address of code that continues at the translation of `Context::target`. The engine makes
    /// the translation if there is none.
    pub resume: u64,
    /// Jumps that may have to be linked.
    pub links: Vec<Link>,
    /// System calls.
    pub sites: Vec<Site>,
    /// Stops of tracing: the address at which the program continues, and the reason.
    pub stops: Vec<(u64, u32)>,
}

impl Exits {
    /// Creates the lists without any exits.
    pub fn new() -> Exits {
        Exits { common: 0, resume: 0, links: Vec::new(), sites: Vec::new(), stops: Vec::new() }
    }
}
