//! The command lines of `syncline study` and `syncline bench`, as clap reads them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use syncline_study::stress::Pause;

use crate::statuses;

/// Measure what synchronization costs, as figures
///
/// Measures SSYNC's figures and tables on this machine or on simulated ones, and writes a page, and
/// a CSV file for each figure. Each figure has a sentence that says what it shows, and the paper's
/// numbers beside ours. For example: `syncline study --machine xeon --out study`
#[derive(Args)]
#[command(after_long_help = statuses::READING)]
pub struct Study {
    /// `native`, `all` (SSYNC's four), `today` (five that are built from published figures and were
    /// not measured), or a machine by its name or the file that describes it
    #[arg(long, value_name = "NAME", default_value = "all")]
    pub machine: Vec<String>,

    /// Only this figure, such as `5`, `figure-5` or `table-2`; can be given several times
    #[arg(long, value_name = "N")]
    pub figure: Vec<String>,

    /// Folder to write to
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Each point once, instead of the average of five
    #[arg(long)]
    pub quick: bool,

    /// Seed of all random choices: the same seed gives the same simulated figures
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

/// Stress atomic operations, locks, channels, the hash table or transactions
///
/// Measures on this machine or on a simulated one, for several numbers of threads. For example:
/// `syncline bench locks --machine opteron --locks 512 ticket mcs`
#[derive(Args)]
#[command(after_long_help = statuses::READING)]
pub struct Bench {
    #[command(subcommand)]
    pub test: Test,
}

/// What is stressed.
#[derive(Subcommand)]
pub enum Test {
    /// Threads that do one atomic operation on one word
    Atomics(Stress),
    /// Threads that take one lock, or a random one of many
    Locks {
        #[command(flatten)]
        stress: Stress,

        /// How many locks there are
        #[arg(long, value_name = "N", default_value = "1", value_parser = count())]
        locks: u64,

        /// Instead, take a free lock, by where its last holder was
        #[arg(long, conflicts_with_all = ["locks", "threads", "pause", "placement"])]
        uncontended: bool,
    },
    /// Threads that send messages of a line to one server
    Channels {
        #[command(flatten)]
        stress: Stress,

        /// Instead, send messages between two threads, by their distance
        #[arg(long, conflicts_with_all = ["threads", "pause", "placement", "memory", "latency"])]
        between_two: bool,
    },
    /// Threads that use a hash table: 80 % get, 10 % put, 10 % remove
    Table {
        #[command(flatten)]
        stress: Stress,

        /// Buckets: many for low contention, few for high
        #[arg(long, value_name = "N", default_value = "512", value_parser = count())]
        buckets: u64,

        /// Keys in a bucket, on average
        #[arg(long, value_name = "N", default_value = "12", value_parser = count())]
        keys: u64,
    },
    /// Threads that move money between the eight accounts of a bank's branches
    Stm {
        #[command(flatten)]
        stress: Stress,

        /// Branches: many for low contention, few for high
        #[arg(long, value_name = "N", default_value = "128", value_parser = count())]
        branches: u64,

        /// Percentage of transactions that only add up a branch
        #[arg(long, value_name = "PERCENT", default_value = "0",
              value_parser = clap::value_parser!(u8).range(0..=100))]
        audits: u8,
    },
}

/// How a machine is loaded.
#[derive(Args, Clone)]
pub struct Stress {
    /// Which operations (cas, tas, cas-fai, swap, fai), locks (`syncline locks`), channels
    /// (one-way, round-trip, the same with -not-fetched-for-writing), locks or `servers` of the
    /// table, or kinds of transactions (shared-memory, lock-servers, one-lock); all if none
    pub names: Vec<String>,

    /// `native`, or a machine by its name or the file that describes it
    #[arg(long, value_name = "NAME", default_value = "native")]
    pub machine: String,

    /// Run the same on this machine as well, and show both with the difference, which shows how well
    /// a description predicts a machine. Pauses take equally many seconds on both
    #[arg(long, value_name = "NAME")]
    pub compare: Option<String>,

    /// Numbers of threads, such as 1,2,8; by default a selection that suits the machine
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = count())]
    pub threads: Vec<u64>,

    /// Where threads run
    #[arg(long, value_enum, default_value_t = Placement::Near)]
    pub placement: Placement,

    /// Where shared memory is; by default `first` for atomics and locks, else `machine`
    #[arg(long, value_enum)]
    pub memory: Option<Memory>,

    /// Cycles from one operation to the next, random around this number; or `none`, or `transfer`:
    /// as long as a line needs to get from one thread to another. The default is `transfer` for
    /// atomics and for one lock, else `none`
    #[arg(long, value_name = "CYCLES", value_parser = parse_pause)]
    pub pause: Option<Pause>,

    /// Show cycles per operation instead of operations per second
    #[arg(long)]
    pub latency: bool,

    /// Measured seconds; by default 0.1 on this machine, and 0.0002 on a simulated one
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub seconds: Option<f64>,

    /// Seconds before the measurement, which do not count; by default a fifth of the measured ones
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub warm_up: Option<f64>,

    /// How often each test is run; the average is shown
    #[arg(long, value_name = "N", default_value = "1", value_parser = count())]
    pub repetitions: u64,

    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,

    /// Print JSON, for scripts
    #[arg(long)]
    pub json: bool,
}

/// The order in which hardware threads are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Placement {
    /// Node by node, a thread on each core before any has two
    Near,
    /// One node after the other in turn
    Far,
    /// Where the operating system puts them
    Anywhere,
}

/// Where shared memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Memory {
    /// As the machine does it: at the node that touches it first, as a rule
    Machine,
    /// At the node of the first thread
    First,
    /// Lock by lock, or line by line, at another node; simulated machines only
    Spread,
}

/// Reads a number from 1 to 4096.
fn count() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=4096)
}

fn parse_pause(text: &str) -> Result<Pause, String> {
    match text {
        "none" => Ok(Pause::None),
        "transfer" => Ok(Pause::Transfer),
        cycles => match cycles.parse() {
            // With a longer pause, a run would take too long.
            Ok(cycles) if cycles <= 1_000_000_000 => Ok(Pause::Cycles(cycles)),
            _ => Err("expected a number of cycles, `none` or `transfer`".to_owned()),
        },
    }
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (1e-6..=600.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected from 0.000001 to 600 seconds".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_cycles_or_words() {
        assert_eq!(parse_pause("none"), Ok(Pause::None));
        assert_eq!(parse_pause("transfer"), Ok(Pause::Transfer));
        assert_eq!(parse_pause("120"), Ok(Pause::Cycles(120)));
        for wrong in ["", "-1", "soon", "99999999999999"] {
            assert!(parse_pause(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn seconds_are_positive() {
        assert_eq!(parse_seconds("0.5"), Ok(0.5));
        for wrong in ["0", "-1", "nan", "inf", "1e9"] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
    }
}
