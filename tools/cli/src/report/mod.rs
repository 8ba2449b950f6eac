//! `syncline report`: reads a recording and reports on it, as text, JSON or an HTML page.

pub mod args;
mod questions;
mod together;

use std::fs::File;
use std::io::{BufWriter, Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use syncline_analysis::model::Note;
use syncline_analysis::{Analysis, Options, Thresholds};
use syncline_recording::folder;
use syncline_report::Extent;

use crate::failure::{Failure, REPORT_FAILED};
use crate::inspect::inspections;
use crate::progress::Bar;
use crate::terminal::style;

/// Reads the recordings, and reports on them.
pub fn run(args: &args::Report) -> Result<ExitCode, Failure> {
    let runs = together::with_further_runs(&args.recordings);
    let recordings = || runs.iter().map(|run| run.recording.as_path());
    let inspections = inspections(recordings(), args.trace.as_deref())
        .map_err(|error| Failure::new(REPORT_FAILED, error))?;
    let thresholds =
        Thresholds { contention: args.contention / 100.0, acquisitions_per_second: args.rate };
    let last = args.last;
    let options = Options { thresholds, inspections, last, ..Options::default() };
    if last.is_some() {
        recordings().try_for_each(require_windows)?;
    }
    let mut analysis = together::read(&runs, |recording| {
        read(recording, &options).map_err(|error| Failure::unreadable(recording, error))
    })?;
    let shown = analysis.notes.iter().find(|note| matches!(note, Note::OnlyTheEnd { .. }));
    if let Some(note) = shown {
        // An error is ignored: standard error may be closed, and the report has the same note.
        let _ = writeln!(stderr(), "syncline: {note}");
    }
    recordings().for_each(|recording| add_experiments(&mut analysis, recording));
    if !options.inspections.is_empty() && !uses_trace(&analysis) {
        // An error is ignored: standard error may be closed, and the report is made as without a
        // trace.
        let _ = writeln!(
            stderr(),
            "syncline: the trace of `inspect` is not used: it has other call sites, or is of \
             another build; run `syncline inspect --from` again"
        );
    }
    show(&analysis, args).map_err(|error| Failure::new(REPORT_FAILED, error))?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses a recording without windows of time: it has no separate counts for the end of the run.
fn require_windows(recording: &Path) -> Result<(), Failure> {
    match folder::windows(recording) {
        Ok(windows) if windows.is_empty() => Err(Failure::message(
            REPORT_FAILED,
            format!("{} has no windows of time", recording.display()),
        )
        .hint("`syncline record --every 10s -- PROGRAM` keeps them")),
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::unreadable(recording, error)),
    }
}

/// Adds the results of `whatif` that are in the recording's folder.
pub fn add_experiments(analysis: &mut Analysis, recording: &Path) {
    if let Err(error) = syncline_experiments::add_to(analysis, recording) {
        // An error is ignored: standard error may be closed, and the report is made as without an
        // experiment.
        let _ =
            writeln!(stderr(), "syncline: the results of `syncline whatif` are not used: {error}");
    }
}

/// Reads a recording. `options` has the facts that `inspect` found out about critical sections.
pub fn read(recording: &Path, options: &Options) -> Result<Analysis> {
    let mut bar = Bar::new();
    let mut analysis = Analysis::load_with_progress(recording, options, &mut |at| bar.show(&at))?;
    questions::complete(&mut analysis, recording);
    Ok(analysis)
}

fn show(analysis: &Analysis, args: &args::Report) -> Result<()> {
    if let Some(path) = &args.html {
        return page(analysis, path);
    }
    let mut out = BufWriter::new(stdout().lock());
    if args.json {
        syncline_report::json(analysis, &mut out)?;
    } else {
        let extent = if args.tables { Extent::Tables } else { Extent::Findings };
        syncline_report::terminal(analysis, extent, &mut out, &style())?;
    }
    Ok(out.flush()?)
}

/// Whether the analysis uses the trace, which is so if any call site is in both.
fn uses_trace(analysis: &Analysis) -> bool {
    let mut sites = analysis.processes.iter().flat_map(|process| &process.sites);
    sites.any(|site| site.inspected.is_some())
}

fn page(analysis: &Analysis, path: &Path) -> Result<()> {
    let write = || -> Result<()> {
        let mut out = BufWriter::new(File::create(path)?);
        syncline_report::html(analysis, &mut out)?;
        Ok(out.flush()?)
    };
    write().with_context(|| format!("can't write {}", path.display()))?;
    // An error is ignored: standard error may be closed, and the page is written already.
    let _ = writeln!(stderr(), "syncline: wrote {}", path.display());
    Ok(())
}
