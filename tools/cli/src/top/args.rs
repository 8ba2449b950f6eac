//! The arguments of `syncline top`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};

use crate::arguments::{DEFAULT_RECORDING, parse_pid};
use crate::statuses;

/// Show what a running program waits for, live
///
/// Needs a recording whose program is still running or, with -p, a process that is not being recorded.
/// On a terminal, `q` quits; elsewhere, a table is printed after each interval. The command ends when
/// the program ends.
#[derive(clap::Args)]
#[command(
    override_usage = "syncline top [OPTIONS] [RECORDING]\n       \
                      syncline top [OPTIONS] -p PID",
    after_long_help = statuses::TOP
)]
pub struct Top {
    /// Recording to show
    #[arg(default_value = DEFAULT_RECORDING, value_parser = OsStringValueParser::new().try_map(recording))]
    pub recording: PathBuf,

    /// Show a process that is already running
    ///
    /// Syncline attaches to the process as `syncline record -p` does, and detaches at the end. The
    /// process continues, and its recording is deleted.
    #[arg(short, long, value_name = "PID", value_parser = parse_pid, conflicts_with = "recording")]
    pub pid: Option<u32>,

    /// Seconds between two views, from 0.1 to 3600
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_interval)]
    pub interval: Duration,

    /// Print one table, after one interval, and exit
    #[arg(long)]
    pub once: bool,
}

/// Reads the path of a recording. If it is the number of a process and there is no recording with
/// this name, it is refused.
fn recording(path: OsString) -> Result<PathBuf, String> {
    let number = path.to_str().and_then(|text| text.parse::<u32>().ok());
    let path = PathBuf::from(path);
    match number {
        Some(pid) if !path.exists() => {
            Err(format!("there is no such recording; `syncline top -p {pid}` shows process {pid}"))
        }
        _ => Ok(path),
    }
}

/// Reads an interval in seconds.
fn parse_interval(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds")?;
    if !(0.1..=3600.0).contains(&seconds) {
        return Err("expected a number of seconds from 0.1 to 3600".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}
