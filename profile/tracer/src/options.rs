//! The options that `syncline inspect` passes through the environment. They are read once, when the
//! program starts. If they are missing, the library only passes calls on.

use core::ffi::CStr;
use core::ops::Range;
use core::sync::atomic::AtomicU64;

use syncline_interpose::{Folder, variable};

/// The options of one inspection.
#[derive(Debug)]
pub struct Options {
    /// The folder that the trace is written to.
    pub folder: Folder,
    /// The most bytes that a process's file may have.
    pub max_size: u64,
    /// The clock's code: 1 for the time stamp counter, 2 for the monotonic clock.
    pub clock: u32,
    /// Ticks of that clock in a second.
    pub ticks_per_second: u64,
    /// The share of the process's time that tracing may cost, in thousandths; 0 means no limit.
    pub budget: u32,
    /// The call sites and locks to trace; all if there are none.
    pub places: Box<[Place]>,
}

/// A range of addresses, of call sites or of locks, to be traced.
#[derive(Debug)]
pub struct Place {
    /// Whether these are addresses of locks (otherwise of call sites).
    pub is_lock: bool,
    /// The name, without folders, of the executable or library in which these addresses are; `None`
    /// if they are addresses in memory.
    pub module: Option<&'static str>,
    /// The first address, and one past the last.
    pub range: Range<u64>,
    /// For how many microseconds threads waited there in a recording; 0 if that is unknown, or has
    /// already been used (`select`).
    pub waited: AtomicU64,
}

impl Options {
    /// Reads the options. `None` if any is missing or invalid, as in a program that is not
    /// inspected.
    pub fn from_environment() -> Option<Options> {
        let list = variable(c"SYNCLINE_INSPECT_SITES").and_then(|v| v.to_str().ok());
        // The program may overwrite its environment, so text that is kept is copied.
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
    /// Parses `site MODULE 0xSTART 0xEND` or `lock MODULE 0xSTART 0xEND`; `None` if parts are
    /// missing or a number is invalid. The first word may be followed by `:WAITED`, with
    /// microseconds; the module may be `-`, for `None`. The module's name may contain spaces, so the
    /// line is parsed from both ends.
    fn parse(line: &'static str) -> Option<Place> {
        let (kind, rest) = line.split_once(' ')?;
        let (rest, end) = rest.rsplit_once(' ')?;
        let (module, start) = rest.rsplit_once(' ')?;
        let number = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
        let (kind, waited) = kind.split_once(':').unwrap_or((kind, "0"));
        Some(Place {
            is_lock: match kind {
                "lock" => true,
                "site" => false,
                _ => return None,
            },
            waited: waited.parse::<u64>().ok()?.into(),
            module: (module != "-").then_some(module),
            range: number(start)?..number(end)?,
        })
    }
}

/// The number in this variable of the environment; `None` if the variable is missing or not a
/// number.
pub fn number(name: &CStr) -> Option<u64> {
    variable(name)?.to_str().ok()?.parse().ok()
}
