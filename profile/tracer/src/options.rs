//! The options that `syncline inspect` passes through the environment. It is read once; without it
//! the library only passes calls on.

use core::ffi::CStr;
use core::ops::Range;
use core::sync::atomic::AtomicU64;

use syncline_interpose::{Folder, variable};

/// The options of one inspection.
#[derive(Debug)]
pub struct Options {
    /// The folder of the trace.
    pub folder: Folder,
    /// The most bytes that a process's file may have.
    pub max_size: u64,
    /// The clock's code: 1 for the time stamp counter, 2 for the monotonic clock.
    pub clock: u32,
    /// Ticks of that clock in a second.
    pub ticks_per_second: u64,
    /// Most that tracing may take of the process's time, in thousandths; 0 for no limit.
    pub budget: u32,
    /// The call sites and locks to trace; all if there are none.
    pub places: Box<[Place]>,
}

/// Call sites or locks: a range of addresses.
#[derive(Debug)]
pub struct Place {
    /// Locks, not call sites.
    pub is_lock: bool,
    /// The name of the file, without folders, to whose addresses the range belongs; `None` if it is
    /// of addresses in memory.
    pub module: Option<&'static str>,
    /// The first address, and one past the last.
    pub range: Range<u64>,
    /// Microseconds that a recording has threads wait there; 0 if that is not known, or was
    /// returned already (`select`).
    pub waited: AtomicU64,
}

impl Options {
    /// Reads them; `None` if this is not an inspection.
    pub fn from_environment() -> Option<Options> {
        let list = variable(c"SYNCLINE_INSPECT_SITES").and_then(|v| v.to_str().ok());
        // The environment may be rewritten by the program: what is kept is copied.
        let list: &'static str = list.map_or("", |list| Box::leak(Box::from(list)));
        Some(Options {
            folder: Folder::from_environment([
                c"SYNCLINE_TRACE",
                c"SYNCLINE_TRACE_ID",
                c"SYNCLINE_TRACE_OTHERS",
            ])?,
            max_size: number(c"SYNCLINE_MAX_SIZE")?,
            clock: number(c"SYNCLINE_CLOCK")?.try_into().ok()?,
            ticks_per_second: number(c"SYNCLINE_TICKS_PER_SECOND").filter(|&rate| rate > 0)?,
            budget: number(c"SYNCLINE_INSPECT_BUDGET")?.try_into().ok()?,
            places: list.lines().filter_map(Place::parse).collect(),
        })
    }
}

impl Place {
    /// `site MODULE 0xSTART 0xEND` or `lock MODULE 0xSTART 0xEND`, or `site:WAITED` with microseconds;
    /// the module may be `-`. The name may have spaces, so the line is parsed from both ends.
    fn parse(line: &'static str) -> Option<Place> {
        let (kind, rest) = line.split_once(' ')?;
        let (rest, end) = rest.rsplit_once(' ')?;
        let (module, start) = rest.rsplit_once(' ')?;
        let number = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
        let (kind, waited) = kind.split_once(':').unwrap_or((kind, "0"));
        Some(Place {
            is_lock: kind == "lock",
            waited: waited.parse::<u64>().ok()?.into(),
            module: (module != "-").then_some(module),
            range: number(start)?..number(end)?,
        })
    }
}

/// A number that the environment has.
pub fn number(name: &CStr) -> Option<u64> {
    variable(name)?.to_str().ok()?.parse().ok()
}
