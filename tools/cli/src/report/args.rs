//! The arguments of `syncline report`.

use std::path::PathBuf;
use std::time::Duration;

use crate::arguments::{DEFAULT_RECORDING, parse_percent, parse_time};
use crate::statuses;

/// Show what a recorded program waited for
///
/// Shows the findings, those with most to gain first: what is wrong, where, what to do, and what
/// that would gain. Then it shows what the end of the run waited for, and what else takes time. If
/// there are no findings, it shows the tables of locks and call sites. It also works while the
/// program is running.
#[derive(clap::Args)]
#[command(after_long_help = statuses::READING)]
pub struct Report {
    /// Recording, or several recordings of one program
    ///
    /// If there are several recordings, from this list or from `syncline record --runs`, the report
    /// shows the most typical one: the recording whose findings occur most often in all of them.
    /// For each finding, the report says in how many recordings the finding was seen.
    #[arg(value_name = "RECORDING", default_value = DEFAULT_RECORDING)]
    pub recordings: Vec<PathBuf>,

    /// Show only this much of the end of the run, such as 20s
    ///
    /// This needs a recording in windows of time (`record --every`). The part that is shown begins at
    /// the end of a window, so it may be up to one window longer than this. If the windows that were
    /// kept don't reach back so far, all of them are shown. The report says how long the part is.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub last: Option<Duration>,

    /// Also show all tables: locks, call sites, quadrants, which call sites make others wait, and
    /// futexes and events
    #[arg(long)]
    pub tables: bool,

    /// Print JSON, for scripts
    #[arg(long, conflicts_with_all = ["html", "tables"])]
    pub json: bool,

    /// Write the report to FILE as an HTML page that needs no other file and no network
    #[arg(long, value_name = "FILE", conflicts_with = "tables")]
    pub html: Option<PathBuf>,

    /// Use the trace of critical sections that `syncline inspect` wrote to this folder
    ///
    /// By default the report uses the trace that `syncline inspect --from RECORDING` left in the
    /// recording's folder, if there is one.
    #[arg(long, value_name = "DIR")]
    pub trace: Option<PathBuf>,

    /// A lock is contended if more than this share of the attempts to acquire it waited or were
    /// refused
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_percent)]
    pub contention: f64,

    /// A lock is acquired often if it is acquired more than this many times per second
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
