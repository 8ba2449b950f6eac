//! The arguments of `syncline record`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::windows::Wanted;
use crate::arguments::{DEFAULT_RECORDING, parse_size, parse_time};
use crate::statuses;

/// Run a program and record its synchronization
///
/// The program must be dynamically linked; it needs no change and no recompiling. Its
/// standard input, output and error stay its own. The processes that it starts are
/// recorded as well.
#[derive(clap::Args)]
#[command(
    override_usage = "syncline record [OPTIONS] [--] PROGRAM [ARGUMENTS]...\n       \
                      syncline record [OPTIONS] -p PID [--for TIME] [--every TIME]",
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
    /// 30 ns an acquisition, and up to 8 MiB a thread; of a long run, windows of time are kept.
    #[arg(long)]
    pub timeline: bool,

    /// How often to run the program
    ///
    /// Runs differ. `syncline report` says of each finding in how many of them it was seen. The
    /// first is recorded in DIR, the others in DIR/run-2 and so on; Ctrl-C ends the last.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,

    /// Record a process that already runs, until Ctrl-C or for the time that --for says
    ///
    /// Syncline attaches to the process and detaches at the end; the process goes on. It takes the
    /// rights that a debugger takes.
    #[arg(short, long, value_name = "PID", conflicts_with_all = ["runs", "command"])]
    pub pid: Option<u32>,

    /// With -p: how long to record, such as 30s or 5m
    #[arg(long = "for", value_name = "TIME", requires = "pid", value_parser = parse_time)]
    pub duration: Option<Duration>,

    /// Record in windows of time, of which the last are kept, such as 10s
    ///
    /// Each window is a recording of its own: DIR/window-1 and so on, which `report`, `diff` and the
    /// others read, also while the program runs. `report DIR --last 20s` shows the end of the run.
    #[arg(long, value_name = "TIME", conflicts_with = "runs", value_parser = parse_time)]
    pub every: Option<Duration>,

    /// With --every: how many windows are kept
    ///
    /// Older windows are deleted, also if all windows together take more space than --max-size.
    #[arg(long, value_name = "N", default_value = "6", requires = "every", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub keep: u32,

    /// The program and its arguments
    #[arg(
        required_unless_present = "pid",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub command: Vec<OsString>,
}

impl Record {
    /// The windows of time that are wanted, if any are.
    pub fn windows(&self) -> Option<Wanted> {
        let every = self.every?;
        Some(Wanted { every, keep: self.keep as usize, most: self.max_size })
    }
}
