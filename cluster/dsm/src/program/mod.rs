//! A program that uses shared memory: this process is one of its ranks.
//!
//! ```text
//!   options      how the program is started: variables that `syncline cluster` sets
//!   rank         this process's node, behind its lock
//!   handler      page faults
//!   threads      threads of this rank, and barriers of all threads of all ranks
//!   allocation   global memory, allocated by all ranks together or by one
//!   locks        locks and counters of all ranks, by number
//!   start        makes a rank from the environment
//! ```
//!
//! A process has at most one program, since there is one range of global addresses: [`start`] makes
//! the program, and it stays until the process ends.
//!
//! Every function here can be called by any thread, except in signal handlers.

mod allocation;
mod handler;
mod locks;
mod options;
mod rank;
mod start;
mod threads;

use std::fmt;
use std::sync::OnceLock;

use syncline_fabric::{Fabric, Machines, Position, say};

use crate::node::Counts;
use crate::pages::{Side, Where};
use crate::shape::Control;
pub use allocation::{GlobalMemory, OutOfMemory};
pub use handler::handle as handle_fault;
pub use locks::{LOCKS_BY_NUMBER, Locks, Section};
pub use options::{Misunderstood, Options, SCHEMES, scheme_name};
pub use rank::{JOINED, LEFT, LOST};
use rank::{Rank, reached};
pub use start::Error;
use start::Started;
pub use threads::{Threads, thread};

/// Bytes of each rank's words for a program that is run unmodified (`syncline cluster
/// --unmodified`): what its threads, mutexes and so on need.
pub const UNMODIFIED: usize = 17 << 20;

/// The exit status of a rank whose program does what an unmodified program can't do on ranks.
pub const REFUSED: i32 = 4;

/// This process as a rank, with the memory, locks and threads that it shares with other ranks.
pub struct Program {
    /// The global memory.
    pub memory: GlobalMemory,
    /// Locks and counters.
    pub locks: Locks,
    /// Threads and their barriers.
    pub threads: Threads,
    rank: &'static Rank,
    side: Side,
    /// Whether `finish` prints the counts.
    prints_counts: bool,
}

static PROGRAM: OnceLock<Program> = OnceLock::new();

/// Makes this process a rank, with at least this many bytes of shared memory. The process becomes
/// one of the ranks that `syncline cluster` has started, or the only rank. Returns when all ranks
/// have called this.
///
/// From then on, our handlers for SIGBUS and SIGSEGV handle accesses to global addresses. The
/// program's own handlers for them must be installed before; ours call them for other addresses.
///
/// # Errors
///
/// See [`Error`]: for example if there is not enough memory, if the system offers no fault side, or
/// if this process does not match rank 0.
pub fn start(bytes: usize) -> Result<&'static Program, Error> {
    start_at(bytes, Where::Apart)
}

/// Like [`start`], with the shared memory at this place.
///
/// # Errors
///
/// Same errors as [`start`].
///
/// # Safety
///
/// The system calls and the C library don't use memory that is replaced, and no other thread does.
pub unsafe fn start_over(bytes: usize, address: usize) -> Result<&'static Program, Error> {
    start_at(bytes, Where::Over(address))
}

fn start_at(bytes: usize, place: Where) -> Result<&'static Program, Error> {
    if PROGRAM.get().is_some() {
        return Err(Error::Twice);
    }
    let Started { rank, options, side } = start::rank(bytes, place)?;
    let program = Program {
        memory: GlobalMemory::new(rank),
        locks: Locks::new(rank),
        threads: Threads::new(rank),
        rank,
        side,
        prints_counts: options.counts,
    };
    let program = PROGRAM.get_or_init(|| program);
    handler::install()?;
    program.threads.barrier();
    Ok(program)
}

impl Program {
    /// The program, if it has been started.
    pub fn get() -> Option<&'static Program> {
        PROGRAM.get()
    }

    /// This process's rank.
    pub fn rank(&self) -> usize {
        self.rank.number()
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.rank.fabric.ranks()
    }

    /// The fault side.
    pub fn side(&self) -> Side {
        self.side
    }

    /// The fabric that the ranks share.
    pub fn fabric(&self) -> &Machines {
        &self.rank.fabric
    }

    /// The position of a word of a rank's part that belongs to the program: the rank has
    /// [`Shape::own`](crate::shape::Shape::own) bytes of them, which are zero at first.
    ///
    /// # Panics
    ///
    /// If there are fewer bytes.
    pub fn own_word(&self, rank: usize, at: usize) -> Position {
        assert!(at + 8 <= self.rank.shape.own, "a rank has {} bytes", self.rank.shape.own);
        self.rank.layout.own(rank).plus(at)
    }

    /// Notes the address at which the program is loaded on all ranks, so that `syncline cluster` can
    /// name its variables.
    pub fn note_loaded(&self, address: usize) {
        let word = self.rank.layout.control(0, Control::Loaded);
        reached(self.rank.fabric.store(word, address as u64));
    }

    /// Sets how many of this process's threads access shared memory, if they are not threads of
    /// [`Threads::run`]. `count` is called while the node's lock is held, so of two calls at the same
    /// time, the later one sees what both threads have counted.
    pub fn set_threads(&self, count: impl FnOnce() -> usize) {
        self.rank.inside(|node| node.set_threads(count()));
    }

    /// The counts of this node's work so far.
    pub fn counts(&self) -> Counts {
        self.rank.inside(|node| node.counts())
    }

    /// Makes everything visible that other ranks have released so far. This is for programs that
    /// synchronize by other means than this library.
    pub fn acquire(&self) {
        self.rank.acquire();
    }

    /// Makes everything that this rank's threads have written visible to threads that acquire
    /// later.
    pub fn release(&self) {
        self.rank.release();
    }

    /// Ends this rank's part in the program. Returns once all ranks have called this. Shared memory
    /// must not be accessed afterwards.
    pub fn finish(&self) {
        self.threads.barrier();
        self.leave();
    }

    /// Ends this rank's part in the program without waiting for the other ranks, which may not need
    /// this rank any more.
    pub fn leave(&self) {
        if self.prints_counts {
            self.print_counts();
        }
        let state = self.rank.layout.control(self.rank(), Control::State);
        reached(self.rank.fabric.store(state, LEFT));
    }

    fn print_counts(&self) {
        let mut text = format!("rank {} ({}):", self.rank(), self.side.name());
        for (name, count) in self.counts().named() {
            text += &format!(" {name} {count},");
        }
        text.pop();
        say(&text);
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("fabric", &self.rank.fabric).finish_non_exhaustive()
    }
}
