//! The command line, as clap reads it. The help, the man page and the completions are made
//! from this file.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Parser, Subcommand};

use crate::statuses;

/// Finds out what a threaded program waits for.
///
/// `syncline record -- PROGRAM` runs a program and counts what it does with its locks;
/// `syncline report` then says which locks cost it time, where, and who was in the way.
/// `syncline inspect` says what the critical sections touch, and whether they depend on each
/// other. `syncline whatif` measures how much a place matters, and `syncline try` whether other
/// locks would make the program faster. `syncline machine` and `syncline study` are about what
/// synchronization costs, here and on other machines.
#[derive(Parser)]
#[command(name = "syncline", version, after_long_help = statuses::ALL)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Record(Record),
    Exec(Exec),
    Mpi(Mpi),
    Try(crate::attempt::args::Try),
    Tune(crate::tune::args::Tune),
    Whatif(crate::whatif::args::WhatIf),
    Inspect(crate::inspect::args::Inspect),
    Report(Report),
    Diff(Diff),
    Export(Export),
    Top(Top),
    Locks(Locks),
    Machine(Machine),
    Study(crate::study::args::Study),
    Bench(crate::study::args::Bench),
    Completions(Completions),
    /// Print the man page
    ///
    /// For example: `syncline man > ~/.local/share/man/man1/syncline.1`
    Man,
}

/// Run a program and record its synchronization
///
/// The program must be dynamically linked; it needs no change and no recompiling. Its
/// standard input, output and error stay its own. The processes that it starts are
/// recorded as well.
#[derive(clap::Args)]
#[command(
    override_usage = "syncline record [OPTIONS] [--] PROGRAM [ARGUMENTS]...",
    after_long_help = statuses::RUNNING
)]
pub struct Record {
    /// Folder to write the recording to
    ///
    /// A recording that is already there is moved to DIR.old, and replaces an older one
    /// of that name.
    #[arg(short, long, value_name = "DIR", default_value = DEFAULT_RECORDING)]
    pub output: PathBuf,

    /// Largest size of one process's file, such as 512M or 2G
    ///
    /// The file takes only the space that it uses; what doesn't fit is counted as
    /// dropped, and the report says how much.
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = parse_size)]
    pub max_size: u64,

    /// Time and log every acquisition, for a timeline
    ///
    /// Without it, waits are logged, and the time that locks are held is a sample. Costs some
    /// 30 ns an acquisition, and up to 8 MiB a thread; of a long run windows of time are kept.
    #[arg(long)]
    pub timeline: bool,

    /// How often to run the program
    ///
    /// Runs differ. `syncline report` says of each finding in how many of them it was seen. The
    /// first is recorded in DIR, the others in DIR/run-2 and so on; Ctrl-C ends the last.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,

    /// What other tools attach with: refused with what to do instead.
    #[arg(short, long, value_name = "PID", hide = true, value_parser = refuse_pid)]
    pub pid: Option<u32>,

    #[command(flatten)]
    pub program: Program,
}

/// What is run, at the end of a command line.
#[derive(clap::Args)]
pub struct Program {
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub command: Vec<OsString>,
}

/// Run a program with other locks in place of its own
///
/// Replaces the pthread mutexes, condition variables, spinlocks and reader-writer locks of a
/// dynamically linked program by locks of the library, without a change to the program. Syncline
/// becomes the program, so this is fit for production; docs/exec.md says what is replaced, what
/// is not, and what to mind.
///
/// For example: `syncline exec --lock gate+rw_readers -- ./server`
#[derive(clap::Args)]
#[command(
    override_usage = "syncline exec --lock LOCK[+LOCK] | --policy FILE [OPTIONS] [--] PROGRAM [ARGUMENTS]...",
    after_long_help = statuses::RUNNING
)]
pub struct Exec {
    /// Which lock to use, by its name in `syncline locks`
    ///
    /// With a policy of waiting (`mcs-spin`, `mcs-yield`, `mcs-park`) or without, which means
    /// parking. A lock of one holder takes the place of mutexes and spinlocks, one for readers and
    /// writers that of reader-writer locks; `gate+rw_readers` is one of each.
    #[arg(short, long, value_name = "LOCK", required_unless_present_any = ["policy", "place"])]
    pub lock: Option<crate::exec::Locks>,

    /// Choose a lock for each object by the rules in FILE, as `syncline tune` writes it
    ///
    /// By the place that creates or acquires the object, by its name, or by where it is;
    /// docs/exec.md describes the file.
    #[arg(short, long, value_name = "FILE", conflicts_with = "lock")]
    pub policy: Option<PathBuf>,

    /// Where the program's threads run
    #[arg(long, value_enum, value_name = "WHERE")]
    pub place: Option<crate::exec::Placement>,

    /// Say on standard error at the end what was replaced and what was not
    #[arg(long)]
    pub report: bool,

    #[command(flatten)]
    pub program: Program,
}

/// Run an MPI program with other locks for its windows
///
/// The program needs no change and no recompiling; PROGRAM is what starts it, such as `mpirun -n 4
/// ./app`. A window's lock scheme is the value of its Info key `passive_sync_mode`, or else that of
/// --scheme. Windows without either keep the MPI library's own, and so do those whose ranks share no
/// memory. docs/mpi.md says which scheme when.
#[derive(clap::Args)]
#[command(
    override_usage = "syncline mpi [OPTIONS] [--] PROGRAM [ARGUMENTS]...",
    after_long_help = statuses::RUNNING
)]
pub struct Mpi {
    /// The scheme of windows without the Info key
    #[arg(short, long, value_name = "SCHEME", value_parser = crate::mpi::schemes())]
    pub scheme: Option<String>,

    #[command(flatten)]
    pub program: Program,
}

/// Say what a recorded program waited for
///
/// Shows the locks and the places in the code that cost time, the most costly first, and
/// who was in the way. The program may still run.
#[derive(clap::Args)]
#[command(after_long_help = statuses::READING)]
pub struct Report {
    /// The recording; several of one program are read as one
    ///
    /// Of several, as `syncline record --runs` makes them too, one is shown, and each finding with
    /// the number of recordings that it was seen in.
    #[arg(value_name = "RECORDING", default_value = DEFAULT_RECORDING)]
    pub recordings: Vec<PathBuf>,

    /// Show all tables besides the findings: locks, call sites, quadrants, who blocks whom
    #[arg(long)]
    pub tables: bool,

    /// Print JSON, for scripts
    #[arg(long, conflicts_with_all = ["html", "tables"])]
    pub json: bool,

    /// Write a page to FILE instead: one file that needs no network
    #[arg(long, value_name = "FILE", conflicts_with = "tables")]
    pub html: Option<PathBuf>,

    /// Use this trace of critical sections, as `syncline inspect` wrote it
    ///
    /// Without it that is used which `syncline inspect --from RECORDING` left in the recording's
    /// folder, if there is one.
    #[arg(long, value_name = "DIR")]
    pub trace: Option<PathBuf>,

    /// From which share of acquisitions that waited a lock is called contended
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_percent)]
    pub contention: f64,

    /// From how many acquisitions a second a lock is called busy
    #[arg(long, value_name = "N", default_value = "1000", value_parser = parse_rate)]
    pub rate: f64,
}

/// Compare two recordings
///
/// Says which findings are gone, which are new and which have changed, and where waiting
/// became more or less. Places are matched by function and file, so lines may move. Times
/// are per second of run time, as runs need not be equally long.
#[derive(clap::Args)]
#[command(after_long_help = statuses::READING)]
pub struct Diff {
    /// The recording from before
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,

    /// The recording from after
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,

    /// Print JSON, for scripts
    #[arg(long)]
    pub json: bool,
}

/// Write a recording for other tools
///
/// Profiles (pprof, folded) have the waiting for locks of the whole run, by call stack.
/// Traces (perfetto, firefox) have what each thread waited for when, of a long run in windows
/// of time, and what it held if it was recorded with `record --timeline`.
///
/// For example: `syncline export --format folded | inferno-flamegraph > waits.svg`
#[derive(clap::Args)]
#[command(after_long_help = statuses::READING)]
pub struct Export {
    /// The recording
    #[arg(default_value = DEFAULT_RECORDING)]
    pub recording: PathBuf,

    /// What to write
    #[arg(short, long, value_enum)]
    pub format: Format,

    /// File to write to; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,

    /// What the widths of a flame graph are; only for folded stacks
    #[arg(long, value_enum, default_value_t = Value::Delay)]
    pub value: Value,
}

/// What other tools read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A profile for `go tool pprof`
    Pprof,
    /// A trace for ui.perfetto.dev
    Perfetto,
    /// A profile for profiler.firefox.com
    Firefox,
    /// Folded stacks for flame graphs
    Folded,
    /// The JSON report and the timelines
    Json,
}

/// What a flame graph shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Value {
    /// Microseconds waited
    Delay,
    /// Waits
    Waits,
}

/// Show a running recording, live
///
/// Needs a recording whose program still runs. On a terminal, `q` leaves; elsewhere, a
/// table is printed after each interval. Ends when the program ends.
#[derive(clap::Args)]
#[command(after_long_help = statuses::READING)]
pub struct Top {
    /// The recording
    #[arg(default_value = DEFAULT_RECORDING, value_parser = OsStringValueParser::new().try_map(recording))]
    pub recording: PathBuf,

    /// What other tools attach with: refused with what to do instead.
    #[arg(short, long, value_name = "PID", hide = true, value_parser = refuse_pid)]
    pub pid: Option<u32>,

    /// Seconds from one view to the next
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_interval)]
    pub interval: Duration,

    /// Print one table and end
    #[arg(long)]
    pub once: bool,
}

/// List the locks of the library
///
/// Each with the order in which it serves waiters, its size and that of an acquisition's queue
/// node, what it can do, and when to use it.
#[derive(clap::Args)]
pub struct Locks {
    /// Print the table of docs/locks.md
    #[arg(long)]
    pub markdown: bool,
}

/// Measure what an access to memory costs on this machine
///
/// Loads, stores and atomic operations, on lines in each state of the caches' protocol, over each
/// distance between two hardware threads; SSYNC's ccbench. Takes a few seconds for a few
/// processors, a minute or two for hundreds. The other processors should be idle meanwhile.
#[derive(clap::Args)]
#[command(after_long_help = statuses::READING)]
pub struct Machine {
    /// A simulated machine to measure instead: its name, or the file that describes it
    #[arg(value_name = "MACHINE")]
    pub simulated: Option<String>,

    /// Take fewer samples: for a first look
    #[arg(long)]
    pub quick: bool,

    /// Write a machine description to FILE, which simulations load; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write a page to FILE: one file that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Print the completions of a shell
///
/// For example: `syncline completions bash > ~/.local/share/bash-completion/completions/syncline`
#[derive(clap::Args)]
pub struct Completions {
    pub shell: clap_complete::Shell,
}

/// Where `record` writes and `report` reads if nothing else is said.
pub const DEFAULT_RECORDING: &str = "syncline-recording";

/// What to do where a running process was named.
const NO_ATTACHING: &str = "Syncline can't attach to a running process; start the program with \
    `syncline record -o DIR -- PROGRAM`, and while it runs `syncline top DIR` shows what it waits for";

/// # Errors
/// Always, with what to do instead.
pub fn refuse_pid(_: &str) -> Result<u32, String> {
    Err(NO_ATTACHING.to_owned())
}

/// A recording's path, and not the number of a process.
fn recording(path: OsString) -> Result<PathBuf, String> {
    let is_number = path.to_str().is_some_and(|text| text.parse::<u32>().is_ok());
    let path = PathBuf::from(path);
    if is_number && !path.exists() { Err(NO_ATTACHING.to_owned()) } else { Ok(path) }
}

/// Reads a number of bytes: digits, then K, M, G or T (powers of 1024) or nothing.
pub fn parse_size(text: &str) -> Result<u64, String> {
    const UNITS: &str = "KMGT";
    let unit = text.chars().last().and_then(|last| UNITS.find(last.to_ascii_uppercase()));
    let (digits, shift) = match unit {
        Some(place) => (&text[..text.len() - 1], 10 * (place + 1)),
        None => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a size such as 512M or 2G")?;
    number.checked_mul(1 << shift).ok_or_else(|| "this is too large".to_owned())
}

/// Reads a share of a hundred.
pub fn parse_percent(text: &str) -> Result<f64, String> {
    let percent: f64 = text.trim_end_matches('%').parse().map_err(|_| "expected a number")?;
    if !(0.0..=100.0).contains(&percent) {
        return Err("expected from 0 to 100".to_owned());
    }
    Ok(percent)
}

/// Reads a number of times in a second.
fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if (0.0..f64::INFINITY).contains(&rate) => Ok(rate),
        _ => Err("expected a number, 0 or more".to_owned()),
    }
}

/// More runs of a program than anybody waits for.
pub const MOST_RUNS: usize = 10_000;

/// Reads how often to run something.
pub fn parse_runs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(runs) if (1..=MOST_RUNS).contains(&runs) => Ok(runs),
        _ => Err("expected a number from 1 to 10000".to_owned()),
    }
}

/// Reads an interval in seconds.
fn parse_interval(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds")?;
    if !(0.1..=3600.0).contains(&seconds) {
        return Err("expected from 0.1 to 3600 seconds".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn sizes_are_read_in_powers_of_1024() {
        assert_eq!(parse_size("4096"), Ok(4096));
        assert_eq!(parse_size("64K"), Ok(64 << 10));
        assert_eq!(parse_size("512m"), Ok(512 << 20));
        assert_eq!(parse_size("2G"), Ok(2 << 30));
        for wrong in ["", "G", "-1", "1.5G", "2GB", "99999999999T"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn everything_after_the_program_belongs_to_it() {
        let args = Args::parse_from(["syncline", "record", "-o", "d", "ls", "-l", "--", "-o"]);
        let Command::Record(record) = args.command else { panic!("not record") };
        assert_eq!(record.program.command, ["ls", "-l", "--", "-o"]);
    }
}
