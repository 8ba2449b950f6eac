//! The arguments of `syncline report`.

use std::path::PathBuf;
use std::time::Duration;

use crate::arguments::{DEFAULT_RECORDING, parse_percent, parse_time};
use crate::statuses;

/// Say what a recorded program waited for
///
/// Shows the locks and the call sites that cost time, the most costly first, and which threads held
/// the locks. It also works while the program is running.
#[derive(clap::Args)]
#[command(after_long_help = statuses::READING)]
pub struct Report {
    /// The recording, or several recordings of one program
    ///
    /// If there are several, from this list or from `syncline record --runs`, the report shows the
    /// recording whose findings most of the others have too. For each finding it says in how many
    /// recordings the finding was seen.
    #[arg(value_name = "RECORDING", default_value = DEFAULT_RECORDING)]
    pub recordings: Vec<PathBuf>,

    /// Show only this much of the end of the run, such as 20s
    ///
    /// For a recording in windows of time (`record --every`). The part shown begins where a window
    /// ends, so it may be up to one window longer. It is shorter if the windows that were kept
    /// don't reach so far back: then it has all of them. The report says how long it is.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub last: Option<Duration>,

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
    /// By default the report uses the trace that `syncline inspect --from RECORDING` left in the
    /// recording's folder, if there is one.
    #[arg(long, value_name = "DIR")]
    pub trace: Option<PathBuf>,

    /// A lock is contended if at least this share of its acquisitions waited
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_percent)]
    pub contention: f64,

    /// A lock is taken often if it is acquired at least this many times per second
    #[arg(long, value_name = "N", default_value = "1000", value_parser = parse_rate)]
    pub rate: f64,
}

/// Reads a rate per second.
fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if (0.0..f64::INFINITY).contains(&rate) => Ok(rate),
        _ => Err("expected a number, 0 or more".to_owned()),
    }
}
