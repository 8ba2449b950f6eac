//! `syncline diff`: compares two recordings.

use std::io::{BufWriter, Write, stdout};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use syncline_analysis::{Analysis, Options, diff, report};

use crate::args;
use crate::failure::{Failure, REPORT_FAILED};
use crate::report::{Bar, inspections, style};

/// Compares.
pub fn run(args: &args::Diff) -> Result<ExitCode, Failure> {
    let read = |recording: &Path| {
        let inspections =
            inspections([recording], None).map_err(|error| Failure::new(REPORT_FAILED, error))?;
        let mut bar = Bar::new();
        let options = Options { inspections, ..Options::default() };
        Analysis::load_with_progress(recording, &options, &mut |at| bar.show(&at))
            .map_err(|error| Failure::unreadable(recording, error))
    };
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    show(&before, &after, args.json).map_err(|error| Failure::new(REPORT_FAILED, error))?;
    Ok(ExitCode::SUCCESS)
}

fn show(before: &Analysis, after: &Analysis, json: bool) -> Result<()> {
    let difference = diff::diff(before, after).context("a recording has no process")?;
    let mut out = BufWriter::new(stdout().lock());
    if json {
        diff::json(&difference, &mut out)?;
    } else {
        report::terminal_diff(&difference, &mut out, &style(false))?;
    }
    Ok(out.flush()?)
}
