//! `syncline diff`: compares two recordings.

use std::io::{BufWriter, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use syncline_analysis::{Analysis, Options, diff};
use syncline_report::{diff_json, terminal_diff};

use crate::failure::{Failure, REPORT_FAILED};
use crate::inspect::inspections;
use crate::progress::Bar;
use crate::statuses;
use crate::terminal::style;

/// Compare two recordings
///
/// Says which findings are gone, which are new and which have changed, and where threads wait more
/// or less than before. Call sites are matched by function and file, so lines may move. Times are
/// per second of run time, so the runs may differ in length.
#[derive(clap::Args)]
#[command(after_long_help = statuses::READING)]
pub struct Diff {
    /// Recording before the change
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,

    /// Recording after the change
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,

    /// Print JSON, for scripts
    #[arg(long)]
    pub json: bool,
}

/// Compares the recordings, and prints the differences.
pub fn run(args: &Diff) -> Result<ExitCode, Failure> {
    let read = |recording: &Path| {
        let inspections =
            inspections([recording], None).map_err(|error| Failure::new(REPORT_FAILED, error))?;
        let mut bar = Bar::new();
        let options = Options { inspections, ..Options::default() };
        Analysis::load_with_progress(recording, &options, &mut |at| bar.show(&at))
            .map_err(|error| Failure::unreadable(recording, error))
    };
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    show(args, &before, &after).map_err(|error| Failure::new(REPORT_FAILED, error))?;
    Ok(ExitCode::SUCCESS)
}

fn show(args: &Diff, before: &Analysis, after: &Analysis) -> Result<()> {
    let difference = diff::diff(before, after).with_context(|| {
        let empty = if before.processes.is_empty() { &args.before } else { &args.after };
        format!(
            "{} has no process: its program made no call that Syncline records",
            empty.display()
        )
    })?;
    let mut out = BufWriter::new(stdout().lock());
    if args.json {
        diff_json(&difference, &mut out)?;
    } else {
        terminal_diff(&difference, &mut out, &style())?;
    }
    Ok(out.flush()?)
}
