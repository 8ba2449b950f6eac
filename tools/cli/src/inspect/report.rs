//! The report on a trace: one part for each process, and messages about files that can't be read.

use std::io::{BufWriter, Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::{fs, mem};

use serde_json::json;
use syncline_conflicts::{Options, Report, SCHEMA, facts_with, named};
use syncline_fabric::available_memory;
use syncline_recording::Session;
use syncline_trace::{Error, Trace, trace_files};

use super::args::Inspect;
use super::names::Named;
use super::show;
use crate::failure::{Failure, RECORD_FAILED, REPORT_FAILED};
use crate::progress::Bar;
use crate::terminal::style;
use syncline_present::number::{self, counted};

/// The most processes that the text reports on, since a build may have thousands.
const PROCESSES: usize = 8;
/// Reading a trace of this many bytes or more takes some seconds, so a message announces it.
const LARGE: u64 = 64 << 20;

/// Prints the report on a trace.
pub fn print(args: &Inspect, folder: &Path) -> Result<(), Failure> {
    let files = trace_files(folder).map_err(unreadable)?;
    if files.is_empty() {
        return Err(Failure::message(
            if args.read.is_some() { REPORT_FAILED } else { RECORD_FAILED },
            format!("there is no trace in {}", folder.display()),
        )
        .hint("a program that acquires no lock through the C library leaves no trace"));
    }
    let session = Session::read(folder).ok().flatten();
    let processors = session.map_or_else(
        || available_parallelism().map_or(1, usize::from),
        |session| session.processors,
    );
    let options = Options { window: args.window, processors };
    let reports = read(&files, &options)?;
    write(args.json, &reports).map_err(|error| Failure::new(REPORT_FAILED, error))
}

fn unreadable(error: Error) -> Failure {
    Failure::new(REPORT_FAILED, error).hint("`syncline inspect -- PROGRAM` makes a trace")
}

/// The reports on all processes whose files can be read. If a process was killed at its start, or
/// the disk had no room, its file may be incomplete.
fn read(files: &[PathBuf], options: &Options) -> Result<Vec<Report>, Failure> {
    let mut reports: Vec<Report> = Vec::new();
    let mut failed: Vec<Error> = Vec::new();
    let (memory, library) = (free_memory(), Named::library());
    for path in files {
        let bytes = fs::metadata(path).map_or(0, |meta| meta.len());
        if bytes >= LARGE {
            say(&format!("reading {1} ({0})", number::bytes(bytes), path.display()));
        }
        let mut bar = Bar::new();
        let show = &mut |done: u64, of: u64| bar.show_part(done as usize, of as usize);
        let trace = match Trace::open_within(path, memory, show) {
            Ok(trace) => trace,
            Err(error) => {
                failed.push(error);
                continue;
            }
        };
        let mut names = Named::of(&trace, &library);
        // Reading and analysis take about equally long, so each has its own progress bar.
        let mut bar = Bar::new();
        let facts = facts_with(&trace, options, &mut |done, of| bar.show_part(done, of));
        drop(bar);
        let report = named(&trace, &facts, options, &mut names);
        for path in names.replaced() {
            say(&format!("{path} has been replaced by another build: its addresses have no names"));
        }
        // This leaks the trace on purpose: freeing a large trace takes seconds, and the process
        // ends soon.
        mem::forget(trace);
        reports.push(report);
    }
    if reports.is_empty()
        && let Some(error) = failed.pop()
    {
        return Err(unreadable(error));
    }
    failed.iter().for_each(|error| say(&format!("a trace is left out: {error}")));
    reports.sort_by_key(|report| std::cmp::Reverse(report.acquisitions));
    Ok(reports)
}

/// The most bytes that the sections may take in memory: a quarter of the free memory, but at least
/// 256 MiB. Computing the facts about the sections takes about as much memory again.
pub fn free_memory() -> u64 {
    const PART: u64 = 4;
    const LEAST: u64 = 256 << 20;
    available_memory().map_or(LEAST, |bytes| (bytes / PART).max(LEAST))
}

/// Prints a message that is not part of the report. An error is ignored: standard error may be
/// closed, and the report does not depend on the message.
fn say(what: &str) {
    let _ = writeln!(stderr(), "syncline: {what}");
}

fn write(as_json: bool, reports: &[Report]) -> anyhow::Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    if as_json {
        serde_json::to_writer(&mut out, &json!({ "schema": SCHEMA, "processes": reports }))?;
        writeln!(out)?;
        return Ok(out.flush()?);
    }
    // Processes without a traced section are left out, except if no process has one. A process that
    // the tracing library deliberately left alone is always shown.
    let some = reports.iter().any(|report| report.traced > 0);
    let speak = |report: &&Report| !some || report.traced > 0 || report.left_alone.is_some();
    let speaking: Vec<&Report> = reports.iter().filter(speak).collect();
    for (number, report) in speaking.iter().take(PROCESSES).enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        out.write_all(show::text(report, &style()).as_bytes())?;
    }
    if speaking.len() > PROCESSES {
        let more = counted(speaking.len() - PROCESSES, "more process");
        writeln!(out, "\nand {more} with fewer acquisitions; `--json` prints all")?;
    }
    Ok(out.flush()?)
}
