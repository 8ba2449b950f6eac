//! How a program is started: the environment variables that `syncline cluster` sets.

use std::env;
use std::str::FromStr;

use thiserror::Error;

use crate::carina::Scheme;
use crate::homes::Placement;
use crate::node::WAYS;
use crate::pages::Side;
use crate::shape::{MOST_LINE_PAGES, PAGE, Shape};

/// The fewest lines that a cache may have: one instruction may need this many at the same time.
pub const LEAST_LINES: usize = WAYS;

/// The fewest pages that a write buffer may have. An instruction that writes across the border of
/// two pages writes to both. If the buffer had room for one page, each of the two would send the
/// other one home, for ever. With room for a third page, a third page goes home instead. The room
/// for a fourth page is for another thread.
pub const LEAST_WRITTEN: usize = 4;

/// The options of the shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes of the whole memory.
    pub memory: usize,
    /// Pages of a line.
    pub line: usize,
    /// The most bytes that each rank caches, though never less than `LEAST_LINES` lines; `None` for
    /// the whole memory.
    pub cache: Option<usize>,
    /// The most pages that may be written and not yet sent home, though never less than
    /// `LEAST_WRITTEN`; `None` for no limit.
    pub write_buffer: Option<usize>,
    /// How finely lines are classified.
    pub scheme: Scheme,
    /// The rule by which lines get their homes.
    pub placement: Placement,
    /// The fault side; `None` for the fastest that the system allows.
    pub side: Option<Side>,
    /// Whether each rank prints its counts when it ends.
    pub counts: bool,
    /// Whether to look for data races.
    pub check: bool,
    /// Bytes of each rank's words that belong to the program.
    pub own: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory: 256 << 20,
            line: 1,
            cache: None,
            write_buffer: None,
            scheme: Scheme::Writers,
            placement: Placement::Interleaved,
            side: None,
            counts: false,
            check: false,
            own: 0,
        }
    }
}

/// The error for a variable with an unknown value.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{variable}={value} is invalid: expected {wanted}")]
pub struct Misunderstood {
    /// The variable.
    pub variable: &'static str,
    /// The variable's value.
    pub value: String,
    /// The values that it may have.
    pub wanted: String,
}

/// The schemes and their names.
pub const SCHEMES: [(&str, Scheme); 3] =
    [("s", Scheme::Shared), ("ps", Scheme::Private), ("ps3", Scheme::Writers)];

/// The name of a scheme.
pub fn scheme_name(scheme: Scheme) -> &'static str {
    SCHEMES.iter().find(|named| named.1 == scheme).map_or("?", |named| named.0)
}

const MEMORY: &str = "SYNCLINE_DSM_MEMORY";
const LINE: &str = "SYNCLINE_DSM_LINE";
const CACHE: &str = "SYNCLINE_DSM_CACHE";
const WRITE_BUFFER: &str = "SYNCLINE_DSM_WRITE_BUFFER";
const SCHEME: &str = "SYNCLINE_DSM_SCHEME";
const PLACEMENT: &str = "SYNCLINE_DSM_HOMES";
const SIDE: &str = "SYNCLINE_DSM_FAULTS";
const COUNTS: &str = "SYNCLINE_DSM_COUNTS";
const CHECK: &str = "SYNCLINE_DSM_CHECK";
const OWN: &str = "SYNCLINE_DSM_OWN";

impl Options {
    /// The options that the environment sets. For a variable that is not set, the option is that of
    /// [`Options::default`].
    ///
    /// # Errors
    ///
    /// If a variable has an unknown value.
    pub fn from_environment() -> Result<Options, Misunderstood> {
        let default = Options::default();
        let sides = Side::ALL.map(|side| (side.name(), side));
        let placements = Placement::ALL.map(|placement| (placement.name(), placement));
        let options = Options {
            memory: number(MEMORY)?.unwrap_or(default.memory),
            line: number(LINE)?.unwrap_or(default.line),
            cache: number(CACHE)?,
            write_buffer: number(WRITE_BUFFER)?,
            scheme: named(SCHEME, &SCHEMES)?.unwrap_or(default.scheme),
            placement: named(PLACEMENT, &placements)?.unwrap_or(default.placement),
            side: named(SIDE, &sides)?,
            counts: is_set(COUNTS),
            check: is_set(CHECK),
            own: number(OWN)?.unwrap_or(default.own),
        };
        let wrong = |variable, value: usize, wanted: &str| {
            Err(Misunderstood { variable, value: value.to_string(), wanted: wanted.into() })
        };
        if !(1..=MOST_LINE_PAGES).contains(&options.line) {
            return wrong(LINE, options.line, "1 to 64 pages");
        }
        if options.memory == 0 || options.memory > 1 << 42 {
            return wrong(MEMORY, options.memory, "1 byte to 4 TiB");
        }
        if options.write_buffer == Some(0) {
            return wrong(WRITE_BUFFER, 0, "1 page or more");
        }
        Ok(options)
    }

    /// The environment variables that give another process these options.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![
            (MEMORY, self.memory.to_string()),
            (LINE, self.line.to_string()),
            (SCHEME, scheme_name(self.scheme).to_owned()),
            (PLACEMENT, self.placement.name().to_owned()),
            (COUNTS, u8::from(self.counts).to_string()),
            (CHECK, u8::from(self.check).to_string()),
            (OWN, self.own.to_string()),
        ];
        all.extend(self.cache.map(|bytes| (CACHE, bytes.to_string())));
        all.extend(self.write_buffer.map(|pages| (WRITE_BUFFER, pages.to_string())));
        all.extend(self.side.map(|side| (SIDE, side.name().to_owned())));
        all
    }

    /// The shape of the memory for this many ranks.
    pub fn shape(&self, ranks: usize) -> Shape {
        Shape { own: self.own, ..Shape::real(ranks, self.memory, self.line) }
    }

    /// The most lines that a rank caches.
    pub fn cache_lines(&self, shape: &Shape) -> usize {
        self.cache.map_or(shape.lines, |bytes| (bytes / (self.line * PAGE)).max(LEAST_LINES))
    }

    /// The most pages that may be written and not yet sent home.
    pub fn written_pages(&self) -> usize {
        self.write_buffer.map_or(usize::MAX, |pages| pages.max(LEAST_WRITTEN))
    }
}

fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| value != "0")
}

fn number(variable: &'static str) -> Result<Option<usize>, Misunderstood> {
    let Some(value) = env::var_os(variable) else { return Ok(None) };
    let value = value.to_string_lossy().into_owned();
    match usize::from_str(&value) {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(Misunderstood { variable, value, wanted: "a number".into() }),
    }
}

fn named<T: Copy>(variable: &'static str, names: &[(&str, T)]) -> Result<Option<T>, Misunderstood> {
    let Some(value) = env::var_os(variable) else { return Ok(None) };
    let value = value.to_string_lossy().into_owned();
    match names.iter().find(|name| name.0 == value) {
        Some(name) => Ok(Some(name.1)),
        None => {
            let known: Vec<&str> = names.iter().map(|name| name.0).collect();
            Err(Misunderstood { variable, value, wanted: known.join(", ") })
        }
    }
}
