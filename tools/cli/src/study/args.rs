//! The command lines of `syncline study` and `syncline bench`, as clap reads them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use syncline_study::stress::Pause;

use crate::statuses;

/// Measure what synchronization costs, and draw figures
///
/// Measures the figures and tables of SSYNC's paper, and figures of the papers on MPI's passive
/// target and on Argo, on this machine or on simulated ones. Writes an HTML page, and a CSV file
/// for each figure. Each figure has a sentence that says what it shows. If the paper has numbers,
/// they are shown next to ours.
///
/// For example: `syncline study --machine xeon --out study`
#[derive(Args)]
#[command(after_long_help = statuses::READING)]
pub struct Study {
    /// Machine to measure: `native` (this one), `all` (SSYNC's four), `today` (five that are built from
    /// published figures), or a simulated one by its name or the file that describes it; can be given
    /// several times
    #[arg(long, value_name = "NAME", default_value = "all")]
    pub machine: Vec<String>,

    /// Measure only this figure, such as `5`, `figure-5` or `table-2`; can be given several times
    #[arg(long, value_name = "N")]
    pub figure: Vec<String>,

    /// Folder to write the page and the CSV files to
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Measure each point once instead of five times
    #[arg(long)]
    pub quick: bool,

    /// Seed of all random choices: the same seed gives the same simulated figures
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

/// Stress atomic operations, locks, channels, the hash table or transactions
///
/// Measures on this machine or on a simulated one, for several numbers of threads.
///
/// For example: `syncline bench locks --machine opteron --locks 512 ticket mcs`
#[derive(Args)]
#[command(after_long_help = statuses::READING)]
pub struct Bench {
    #[command(subcommand)]
    pub test: Test,
}

/// The kind of thing that is stressed.
#[derive(Subcommand)]
pub enum Test {
    /// Threads that do one atomic operation on one word
    Atomics(Stress),
    /// Threads that acquire one lock, or a random one of many
    Locks {
        #[command(flatten)]
        stress: Stress,

        /// Number of locks
        #[arg(long, value_name = "N", default_value = "1", value_parser = count())]
        locks: u64,

        /// Measure a free lock instead, by the distance of its last holder
        #[arg(long, conflicts_with_all = ["locks", "threads", "pause", "placement"])]
        uncontended: bool,
    },
    /// Threads that send messages of one cache line to one server
    Channels {
        #[command(flatten)]
        stress: Stress,

        /// Measure messages between two threads instead, by their distance
        #[arg(long, conflicts_with_all = ["threads", "pause", "placement", "memory", "latency"])]
        between_two: bool,
    },
    /// Threads that use a hash table: 80 % get, 10 % put, 10 % remove
    Table {
        #[command(flatten)]
        stress: Stress,

        /// Number of buckets: many for low contention, few for high
        #[arg(long, value_name = "N", default_value = "512", value_parser = count())]
        buckets: u64,

        /// Average number of keys in a bucket
        #[arg(long, value_name = "N", default_value = "12", value_parser = count())]
        keys: u64,
    },
    /// Threads that move money between the eight accounts of a bank's branch, with transactions
    Stm {
        #[command(flatten)]
        stress: Stress,

        /// Number of branches: many for low contention, few for high
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
    /// What to measure. `atomics`: operations (cas, tas, cas-fai, swap, fai). `locks`: locks (see
    /// `syncline locks`). `channels`: one-way, round-trip, each also with
    /// -not-fetched-for-writing. `table`: locks, or `servers`. `stm`: shared-memory, lock-servers,
    /// one-lock [default: all]
    pub names: Vec<String>,

    /// Machine to measure: `native` (this one), or a simulated one by its name or the file that describes it
    #[arg(long, value_name = "NAME", default_value = "native")]
    pub machine: String,

    /// Also run the test on the machine NAME, and show both results with their difference
    ///
    /// The difference shows how well a description predicts a machine. A pause of `transfer` takes
    /// the same number of seconds on both machines; a pause in cycles takes the same number of
    /// cycles.
    #[arg(long, value_name = "NAME")]
    pub compare: Option<String>,

    /// Numbers of threads, such as 1,2,8 [default: a selection that suits the machine]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = count())]
    pub threads: Vec<u64>,

    /// Order in which hardware threads are used
    #[arg(long, value_enum, default_value_t = Placement::Near)]
    pub placement: Placement,

    /// Node where the shared memory is [default: `first` for atomics and locks, else `machine`]
    #[arg(long, value_enum)]
    pub memory: Option<Memory>,

    /// Average pause of a thread after an operation, in cycles, or `none`, or `transfer` [default:
    /// `transfer` for atomics and for one lock, else `none`]
    ///
    /// With `transfer`, the average is the longest time that a line needs to get from one thread to
    /// another. Each pause is random, from 0.5 to 1.5 times the average.
    #[arg(long, value_name = "CYCLES", value_parser = parse_pause)]
    pub pause: Option<Pause>,

    /// Show cycles per operation instead of operations per second
    #[arg(long)]
    pub latency: bool,

    /// Seconds to measure [default: 0.1 on this machine, 0.0002 on a simulated one]
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub seconds: Option<f64>,

    /// Seconds to run before the measurement begins [default: a fifth of --seconds]
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub warm_up: Option<f64>,

    /// How many times to run each test; the average is shown
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
    /// Node by node, one thread for each core; then second threads of the cores, again node by node
    Near,
    /// Alternating between the nodes
    Far,
    /// As the operating system decides; threads are not pinned
    Anywhere,
}

/// Where shared memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Memory {
    /// Where the machine places it, which is usually the node that touches it first
    Machine,
    /// The node of the first thread
    First,
    /// Another node for each lock or each line in turn; simulated machines only
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
        _ => Err("expected a number of seconds from 0.000001 to 600".to_owned()),
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
