//! The arguments of `syncline cluster`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use syncline_dsm::homes::Placement;
use syncline_dsm::pages::Side;
use syncline_dsm::program::{Options, SCHEMES, UNMODIFIED};

use crate::arguments::{Program, parse_size};
use crate::statuses;

/// Run a program on several ranks with shared memory
///
/// Starts the program RANKS times, on this machine or on several (`--hosts`). The processes share memory by page faults, and
/// allocate and synchronize it with the functions of `syncline_dsm.h` or of the crate `syncline-dsm`.
/// Each rank has its own cache, as if it were on its own machine. Only rank 0 gets the standard input.
/// docs/dsm.md says how to write such a program, and what makes it fast.
///
/// If a rank dies before `syncline_dsm_finish`, all others are ended. A message names the rank and,
/// if it had joined the shared memory, its last request.
#[derive(clap::Args)]
#[command(
    override_usage = "syncline cluster -n RANKS [OPTIONS] [--] PROGRAM [ARGUMENTS]...",
    after_long_help = statuses::CLUSTER
)]
pub struct Cluster {
    /// How many ranks to start
    #[arg(short = 'n', long, value_name = "RANKS", value_parser = ranks)]
    pub ranks: usize,

    /// Size of the shared memory, such as 512M or 4G
    #[arg(short, long, value_name = "SIZE", default_value = "256M", value_parser = memory)]
    pub memory: usize,

    /// How many pages of 4 KiB a miss fetches (a line), from 1 to 64
    #[arg(long, value_name = "PAGES", default_value_t = 1, value_parser = line)]
    pub line: usize,

    /// Most shared memory that each rank caches; less than four lines count as four [default: all]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub cache: Option<usize>,

    /// Most written pages that a rank keeps until it synchronizes; if it writes more pages, some
    /// are sent home earlier. Less than 4 counts as 4 [default: no limit]
    #[arg(long, value_name = "PAGES", value_parser = pages)]
    pub write_buffer: Option<usize>,

    /// Which cached pages a rank keeps at an acquire or a barrier
    #[arg(long, value_name = "SCHEME", default_value = "ps3", value_parser = schemes())]
    pub scheme: String,

    /// Home ranks of the lines that the program does not place
    #[arg(long, value_name = "WHERE", default_value = "interleaved", value_parser = homes())]
    pub homes: Placement,

    /// How accesses to absent pages are noticed [default: the fastest way that the system allows]
    #[arg(long, value_name = "SIDE", value_parser = sides())]
    pub faults: Option<Side>,

    /// Start the ranks on the hosts in this file, in lines such as `HOST` or `HOST slots=8`
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,

    /// Remote shell that starts Syncline on other hosts than `localhost`, with its options
    #[arg(long, value_name = "COMMAND", default_value = "ssh", requires = "hosts")]
    pub rsh: String,

    /// Run the threads of an ordinary program on the ranks; docs/dsm.md lists what can't work
    #[arg(long)]
    pub unmodified: bool,

    /// Look for data races: bytes that two ranks change without synchronizing in between
    #[arg(long)]
    pub check: bool,

    /// Print each rank's misses, bytes fetched, lines invalidated and other counts when it finishes
    #[arg(long)]
    pub counts: bool,

    #[command(flatten)]
    pub program: Program,
}

impl Cluster {
    /// The options of the shared memory, for all ranks.
    pub fn options(&self) -> Options {
        let named = SCHEMES.iter().find(|scheme| scheme.0 == self.scheme);
        Options {
            memory: self.memory,
            line: self.line,
            cache: self.cache,
            write_buffer: self.write_buffer,
            scheme: named.expect("the parser knows the same names").1,
            placement: self.homes,
            side: self.faults,
            counts: self.counts,
            check: self.check,
            own: if self.unmodified { UNMODIFIED } else { 0 },
        }
    }
}

fn within(text: &str, most: usize, what: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(format!("expected a number of {what} from 1 to {most}")),
    }
}

fn ranks(text: &str) -> Result<usize, String> {
    within(text, 1024, "ranks")
}

fn line(text: &str) -> Result<usize, String> {
    within(text, 64, "pages")
}

fn pages(text: &str) -> Result<usize, String> {
    within(text, 1 << 30, "pages")
}

fn memory(text: &str) -> Result<usize, String> {
    match parse_size(text)? {
        0 => Err("expected a size above 0".to_owned()),
        bytes if bytes > 1 << 42 => Err("expected at most 4096G".to_owned()),
        bytes => Ok(bytes as usize),
    }
}

fn schemes() -> PossibleValuesParser {
    let ideas = [
        "none",
        "pages that only this rank uses",
        "pages that only this rank uses, and pages that no other rank writes",
    ];
    let named = SCHEMES.iter().zip(ideas);
    PossibleValuesParser::new(named.map(|(scheme, idea)| PossibleValue::new(scheme.0).help(idea)))
}

fn homes() -> impl TypedValueParser<Value = Placement> {
    let values = [
        PossibleValue::new("interleaved").help("consecutive lines at consecutive ranks, in turn"),
        PossibleValue::new("blocks").help("a block of consecutive lines at each rank"),
        PossibleValue::new("first-touch").help("at the rank that touches the line first"),
    ];
    PossibleValuesParser::new(values).map(|name| {
        let named = Placement::ALL.into_iter().find(|placement| placement.name() == name);
        named.expect("the parser knows the same names")
    })
}

fn sides() -> impl TypedValueParser<Value = Side> {
    let values = Side::ALL.map(|side| PossibleValue::new(side.name()).help(side.idea()));
    PossibleValuesParser::new(values).map(|name| {
        let named = Side::ALL.into_iter().find(|side| side.name() == name);
        named.expect("the parser knows the same names")
    })
}
