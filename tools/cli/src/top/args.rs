//! The arguments of `syncline top`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};

use crate::arguments::{DEFAULT_RECORDING, NO_ATTACHING, refuse_pid};
use crate::statuses;

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

/// A recording's path, and not the number of a process.
fn recording(path: OsString) -> Result<PathBuf, String> {
    let is_number = path.to_str().is_some_and(|text| text.parse::<u32>().is_ok());
    let path = PathBuf::from(path);
    if is_number && !path.exists() { Err(NO_ATTACHING.to_owned()) } else { Ok(path) }
}

/// Reads an interval in seconds.
fn parse_interval(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds")?;
    if !(0.1..=3600.0).contains(&seconds) {
        return Err("expected from 0.1 to 3600 seconds".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}
