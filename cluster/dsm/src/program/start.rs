//! From the environment to a rank.

use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use syncline::lock::Futex;
use syncline::{Barrier, Mutex};
use syncline_fabric::{Fabric, Host, host};
use thiserror::Error;

use super::allocation::Arena;
use super::locks::Spare;
use super::{JOINED, Misunderstood, Options, PROGRAM, Program, handler, reached};
use crate::carina::Carina;
use crate::node::{Node, Policy};
use crate::pages::{Unavailable, choose};
use crate::shape::{Control, PAGE, Shape};
use crate::vela::Meeting;

/// Why a program could not be started on shared memory.
#[derive(Debug, Error)]
pub enum Error {
    /// It was started before.
    #[error("this process has shared memory already")]
    Twice,
    /// A variable is not understood.
    #[error(transparent)]
    Options(#[from] Misunderstood),
    /// The ranks' memory can't be reached.
    #[error(transparent)]
    Ranks(#[from] host::Error),
    /// The ranks' memory was made for something else.
    #[error("the ranks have {found} bytes each, and this memory needs {needed}")]
    Size {
        /// What there is.
        found: usize,
        /// What is needed.
        needed: usize,
    },
    /// The program needs more than it was started with.
    #[error(
        "the program needs {needed} bytes of shared memory, and {has} are there: start it with `syncline cluster --memory {needed}`"
    )]
    TooSmall {
        /// What it needs.
        needed: usize,
        /// What there is.
        has: usize,
    },
    /// The ranks don't run the same program, or with the same options.
    #[error(
        "rank {rank} runs another program than rank 0, or has other options: start the same file, with the same variables, on all ranks"
    )]
    Different {
        /// The rank.
        rank: usize,
    },
    /// The system's pages are not what is expected.
    #[error("this system has pages of {0} bytes, and only 4,096 are known")]
    PageSize(usize),
    /// No page faults.
    #[error(transparent)]
    Faults(#[from] Unavailable),
    /// The system refused.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Makes this process a rank with at least this many bytes of shared memory: one of those that
/// `syncline cluster` has started, or else the only one. Returns when all ranks have come to this.
///
/// From here on accesses to global addresses are answered by handlers for SIGBUS and SIGSEGV. The
/// program's own have to be installed before, and are called for other addresses.
///
/// # Errors
///
/// If there is not enough memory, if the system has no page faults for us, or if this process does
/// not match the other ranks.
pub fn start(bytes: usize) -> Result<&'static Program, Error> {
    if PROGRAM.get().is_some() {
        return Err(Error::Twice);
    }
    // SAFETY: asks the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    if page != PAGE {
        return Err(Error::PageSize(page));
    }
    let mut options = Options::from_environment()?;
    let host = if Host::is_launched() {
        Host::from_environment()?
    } else {
        options.memory = options.memory.max(bytes);
        Host::alone(options.shape(1).layout().bytes)?
    };
    let shape = options.shape(host.ranks());
    let layout = shape.layout();
    if layout.bytes != host.bytes() {
        return Err(Error::Size { found: host.bytes(), needed: layout.bytes });
    }
    if bytes > shape.bytes() {
        return Err(Error::TooSmall { needed: bytes, has: shape.bytes() });
    }
    let chosen = choose(shape.bytes(), options.side)?;
    if host.rank() == 0 {
        for (side, reason) in &chosen.passed {
            let (not, instead) = (side.name(), chosen.side.name());
            // Standard error may be closed.
            let _ = writeln!(
                io::stderr(),
                "syncline: no fault side {not} ({reason}): {instead} is used, which is slower"
            );
        }
    }
    let policy = Policy {
        scheme: options.scheme,
        placement: options.placement,
        cache_lines: options.cache_lines(&shape),
        write_buffer: options.written_pages(),
    };
    let node = Node::new(host.clone(), chosen.pages, Carina, shape, policy)?;
    let program = Program {
        layout,
        options,
        side: chosen.side,
        reserved: chosen.reserved,
        node: Mutex::from_raw(Futex::default(), Box::new(node)),
        meeting: Mutex::new(Meeting::default()),
        barrier: Mutex::new(Arc::new(Barrier::new(1))),
        threads: AtomicUsize::new(1),
        allocated: AtomicU64::new(0),
        arena: Mutex::new(Arena::default()),
        locks: (0..shape.locks).map(|_| OnceLock::new()).collect(),
        spare: Spare::default(),
        shape,
        host,
    };
    program.introduce()?;
    let program = PROGRAM.get_or_init(|| program);
    handler::install()?;
    program.barrier();
    Ok(program)
}

/// Made from what has to be equal on all ranks: the program's file and the options.
fn identity(options: &Options, shape: &Shape) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    hasher.write(&std::fs::read("/proc/self/exe")?);
    hasher.write(format!("{shape:?} {:?} {:?}", options.scheme, options.placement).as_bytes());
    Ok(hasher.finish() | 1)
}

impl Program {
    /// Publishes what this rank runs, and compares it with rank 0.
    fn introduce(&self) -> Result<(), Error> {
        let identity = identity(&self.options, &self.shape)?;
        let word = |rank, word| self.layout.control(rank, word);
        let me = self.host.rank();
        reached(self.host.store(word(me, Control::Identity), identity));
        reached(self.host.store(word(me, Control::State), JOINED));
        let first = word(0, Control::Identity);
        reached(crate::vela::wait(&self.host, first, 1));
        match reached(self.host.load(first)) == identity {
            true => Ok(()),
            false => Err(Error::Different { rank: me }),
        }
    }
}
