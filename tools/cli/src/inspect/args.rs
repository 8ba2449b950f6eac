//! The command line of `syncline inspect`.

use std::ffi::OsString;
use std::path::PathBuf;

use syncline_conflicts::Options;

use crate::arguments::{parse_size, parse_window, refuse_pid};
use crate::statuses;

/// Show which data critical sections access, and whether the sections depend on each other
///
/// Runs a program and traces a sample of its critical sections, instruction by instruction. For each
/// lock, the report says how long its sections are, how much of them works on shared data, which of
/// them could have run at the same time, which data the others conflict on, and what to do: use more
/// locks, split off a field, shorten a section, use another kind of lock, or nothing.
///
/// For example: `syncline inspect --from syncline-recording -- ./app`
#[derive(clap::Args)]
#[command(
    override_usage = "syncline inspect [OPTIONS] [--] PROGRAM [ARGUMENTS]...\n       \
                      syncline inspect --read DIR [--window N] [--json]",
    after_long_help = statuses::INSPECTING
)]
pub struct Inspect {
    /// Trace the locks in the findings of this recording, and in its list of what else takes time
    ///
    /// If neither has locks, the call sites with the most waiting are traced.
    #[arg(long, value_name = "RECORDING", conflicts_with = "read")]
    pub from: Option<PathBuf>,

    /// Trace the locks that are acquired at this call site: `queue.c:120`, a function, or a name as
    /// in a report
    #[arg(long, value_name = "PLACE", conflicts_with = "read")]
    pub site: Vec<String>,

    /// Trace this lock: a global variable, or a name as in a report
    #[arg(long, value_name = "NAME", conflicts_with = "read")]
    pub lock: Vec<String>,

    /// How much slower the program may become, in percent; 0 traces every section at any cost
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_budget, conflicts_with = "read")]
    pub budget: u32,

    /// Compare each section with this many earlier sections of its lock
    #[arg(short, long, value_name = "N", default_value_t = Options::WINDOW, value_parser = parse_window)]
    pub window: usize,

    /// Folder to write the trace to [default: syncline-trace; with --from, RECORDING/trace]
    ///
    /// A trace that is already there is moved to DIR.old, and replaces an older one of that name.
    /// `syncline report RECORDING` uses the trace in the recording's folder.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Largest size of each process's trace, such as 512M or 2G
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = parse_size, conflicts_with = "read")]
    pub max_size: u64,

    /// Only trace; `syncline inspect --read DIR` prints the report later
    #[arg(long, conflicts_with_all = ["read", "json"])]
    pub trace_only: bool,

    /// Run nothing, and report on the trace in this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["command", "output"])]
    pub read: Option<PathBuf>,

    /// Print JSON, for scripts
    #[arg(long)]
    pub json: bool,

    /// The option by which other tools attach; the error says what to do instead.
    #[arg(short, long, value_name = "PID", hide = true, value_parser = refuse_pid)]
    pub pid: Option<u32>,

    /// The program and its arguments
    #[arg(
        required_unless_present = "read",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub command: Vec<OsString>,
}

/// The folder for a trace if none is given.
pub const DEFAULT_TRACE: &str = "syncline-trace";

/// Reads a percentage. Returns it in thousandths: 10 % are 100.
fn parse_budget(text: &str) -> Result<u32, String> {
    let percent: f64 =
        text.trim_end_matches('%').parse().map_err(|_| "expected a percentage, such as 10")?;
    if !(0.0..=10_000.0).contains(&percent) {
        return Err("expected a percentage from 0 to 10000".to_owned());
    }
    let permille = (percent * 10.0).round() as u32;
    // 0 means that there is no limit, so any other percentage becomes at least one thousandth.
    Ok(if percent > 0.0 { permille.max(1) } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_parsed_as_percent() {
        assert_eq!(parse_budget("10"), Ok(100));
        assert_eq!(parse_budget("2.5%"), Ok(25));
        assert_eq!(parse_budget("0.01"), Ok(1));
        assert_eq!(parse_budget("0"), Ok(0));
        assert!(parse_budget("-1").is_err());
    }
}
