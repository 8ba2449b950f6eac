//! The arguments of `syncline record`.

use std::path::PathBuf;

use crate::arguments::{DEFAULT_RECORDING, Program, parse_size, refuse_pid};
use crate::statuses;

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
