//! Makes this process a rank, as the environment says.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Write as _};
use std::path::Path;

use syncline_fabric::{Fabric, Host, Machines, machines};
use thiserror::Error;

use super::options::{Misunderstood, Options};
use super::rank::{JOINED, Rank, reached};
use crate::carina::Carina;
use crate::node::{Node, Policy};
use crate::pages::{Side, Unavailable, Where, choose};
use crate::shape::{Control, PAGE, Shape};

/// Why a program could not be started on shared memory.
#[derive(Debug, Error)]
pub enum Error {
    /// The process was started as a rank before.
    #[error("this process already has shared memory")]
    Twice,
    /// A variable has an unknown value.
    #[error(transparent)]
    Options(#[from] Misunderstood),
    /// The ranks' memory can't be reached.
    #[error(transparent)]
    Ranks(#[from] machines::Error),
    /// Each rank's part has another size than this shared memory needs.
    #[error("the ranks have {found} bytes each, but this shared memory needs {needed}")]
    Size {
        /// The bytes that each rank has.
        found: usize,
        /// The bytes that are needed.
        needed: usize,
    },
    /// The program needs more memory than it was started with.
    #[error(
        "the program needs {needed} bytes of shared memory, but has only {has}: start it with `syncline cluster --memory {needed}`"
    )]
    TooSmall {
        /// The bytes that it needs.
        needed: usize,
        /// The bytes that it has.
        has: usize,
    },
    /// The ranks run different programs, or have different options. Ranks of an unmodified program may
    /// have different libraries.
    #[error(
        "rank {rank} runs another program than rank 0, or has other options or libraries: start all ranks with the same files and the same environment variables"
    )]
    Different {
        /// The rank that differs.
        rank: usize,
    },
    /// The system's pages have a size other than 4,096 bytes.
    #[error("this system has pages of {0} bytes, but only pages of 4,096 bytes are supported")]
    PageSize(usize),
    /// No fault side is available.
    #[error(transparent)]
    Faults(#[from] Unavailable),
    /// The system refused a request.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// A process that has become a rank.
pub(super) struct Started {
    pub rank: &'static Rank,
    pub options: Options,
    pub side: Side,
}

/// Makes this process a rank with at least this many bytes of shared memory, after a check that it
/// runs the same program as rank 0. The rank does not handle page faults yet.
pub(super) fn rank(bytes: usize, place: Where) -> Result<Started, Error> {
    // SAFETY: a query to the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    if page != PAGE {
        return Err(Error::PageSize(page));
    }
    let mut options = Options::from_environment()?;
    let fabric = if Host::is_launched() {
        Machines::from_environment()?
    } else {
        options.memory = options.memory.max(bytes);
        Machines::from(Host::alone(options.shape(1).layout().bytes).map_err(machines::Error::Host)?)
    };
    let shape = options.shape(fabric.ranks());
    let layout = shape.layout();
    if layout.bytes != fabric.bytes() {
        return Err(Error::Size { found: fabric.bytes(), needed: layout.bytes });
    }
    if bytes > shape.bytes() {
        return Err(Error::TooSmall { needed: bytes, has: shape.bytes() });
    }
    let chosen = choose(shape.bytes(), place, options.side)?;
    if fabric.rank() == 0 {
        for (side, reason) in &chosen.passed {
            let (not, instead) = (side.name(), chosen.side.name());
            // An error is ignored: standard error may be closed.
            let _ = writeln!(
                io::stderr(),
                "syncline: fault handler {not} is not available ({reason}): {instead} is used, which is slower"
            );
        }
    }
    let policy = Policy {
        scheme: options.scheme,
        placement: options.placement,
        cache_lines: options.cache_lines(&shape),
        write_buffer: options.written_pages(),
        check: options.check,
    };
    let node = Node::new(fabric.clone(), chosen.pages, Carina, shape, policy)?;
    let rank = Rank::new(fabric, shape, chosen.reserved, node);
    introduce(&rank, &options, place)?;
    Ok(Started { rank: rank.set(), options, side: chosen.side })
}

/// A hash of what has to be equal on all ranks: the program's file, the shape of the memory, the
/// scheme and the placement. With `libraries`, also the libraries and their addresses.
fn identity(options: &Options, shape: &Shape, libraries: bool) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    hasher.write(&fs::read("/proc/self/exe")?);
    hasher.write(format!("{shape:?} {:?} {:?}", options.scheme, options.placement).as_bytes());
    if libraries {
        let program = fs::read_link("/proc/self/exe")?;
        for line in fs::read_to_string("/proc/self/maps")?.lines() {
            // addresses, permissions, offset, device, inode, file
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            if let [addresses, "r-xp", offset, _, _, file] = fields[..]
                && file.starts_with('/')
            {
                hasher.write(format!("{addresses} {offset}").as_bytes());
                if program != Path::new(file) {
                    hasher.write(&fs::read(file)?);
                }
            }
        }
    }
    Ok(hasher.finish() | 1)
}

/// Publishes the hash of this rank's program and options, and compares it with that of rank 0.
fn introduce(rank: &Rank, options: &Options, place: Where) -> Result<(), Error> {
    // If the memory takes the place of the program's variables, pointers to functions are shared.
    // The ranks of one machine have the same libraries, since randomised addresses are off.
    let libraries = matches!(place, Where::Over(_)) && rank.fabric.has_several_machines();
    let identity = identity(options, &rank.shape, libraries)?;
    let word = |of, word| rank.layout.control(of, word);
    let me = rank.number();
    if me == 0 {
        let base = rank.reserved.base().addr() as u64;
        reached(rank.fabric.store(word(0, Control::Base), base));
    }
    reached(rank.fabric.store(word(me, Control::Identity), identity));
    let first = word(0, Control::Identity);
    reached(crate::vela::wait(&rank.fabric, first, 1));
    if reached(rank.fabric.load(first)) != identity {
        return Err(Error::Different { rank: me });
    }
    reached(rank.fabric.store(word(me, Control::State), JOINED));
    Ok(())
}
