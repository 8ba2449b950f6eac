//! The arguments of `syncline record`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use syncline_recording::keeper::Wanted;

use crate::arguments::{DEFAULT_RECORDING, parse_pid, parse_size, parse_time};
use crate::statuses;

/// Run a program, or attach to a process, and record its synchronization
///
/// The program must be dynamically linked. It is neither changed nor recompiled, and keeps its
/// standard input, output and error. The processes that it starts are recorded as well.
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

    /// Largest size of a recording's file, such as 512M or 2G
    ///
    /// Forked children share their parent's file. A file takes only as much space on the disk as it
    /// uses. Operations that don't fit are counted as dropped, and the report says how many.
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = parse_size)]
    pub max_size: u64,

    /// Time and log every acquisition, for a timeline
    ///
    /// Without this option, only waits are logged, and the times that locks are held are sampled.
    /// The option costs about 30 ns per acquisition and up to 8 MiB per thread. In a long run, only
    /// windows of time are logged.
    #[arg(long)]
    pub timeline: bool,

    /// How many times to run the program, up to 100
    ///
    /// Runs of a program differ. `syncline report` says in how many runs each finding was seen. The
    /// first run is recorded in DIR, the others in DIR/run-2 and so on; Ctrl-C makes the current
    /// run the last.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,

    /// Record a process that is already running, instead of a program
    ///
    /// Syncline attaches to the process, and detaches after Ctrl-C or the time of --for. The process
    /// then continues. This needs the same rights as a debugger.
    #[arg(short, long, value_name = "PID", value_parser = parse_pid, conflicts_with_all = ["runs", "command"])]
    pub pid: Option<u32>,

    /// With -p: how long to record, such as 30s or 5m [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", requires = "pid", value_parser = parse_time)]
    pub duration: Option<Duration>,

    /// Record in windows of this length, such as 10s, and keep the last ones
    ///
    /// Each window is a recording of its own: DIR/window-1 and so on. `report`, `diff` and other
    /// commands can read it, even while the program runs. `report DIR --last 20s` shows the end of the run.
    #[arg(long, value_name = "TIME", conflicts_with = "runs", value_parser = parse_time)]
    pub every: Option<Duration>,

    /// With --every: how many windows to keep
    ///
    /// Older windows are deleted. If these windows together exceed --max-size, fewer are kept.
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
    /// The windows of time that --every and --keep request; `None` without --every.
    pub fn windows(&self) -> Option<Wanted> {
        let every = self.every?;
        Some(Wanted { every, keep: self.keep as usize, most: self.max_size })
    }
}
