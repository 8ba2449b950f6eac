//! `syncline inspect`: runs a program with the tracing library in it, and says what its critical
//! sections touch.

pub mod args;
mod choose;
mod lock;
mod names;
mod report;
mod show;
mod tables;
mod wrap;

use std::env;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{Write, stderr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use syncline_trace::{Trace, trace_files};

use crate::failure::Failure;
use crate::record::{
    Clock, Folder, exit_code, find_library, find_program, hear_signals, largest_file, preload,
    run_in, told_to_end,
};
use crate::report::trace_of;
use crate::words::{counted, size};
use crate::writers::Writers;
use args::Inspect;
pub use names::Named;

/// The library that traces.
const LIBRARY: &str = "libsyncline_inspect.so";
/// Names another library instead, for those who work on Syncline.
const OVERRIDE: &str = "SYNCLINE_INSPECT";

/// A trace of so many bytes is read in a second.
const QUICK: u64 = 16 << 20;

/// Bytes of what the file system counts in.
const BLOCK: u64 = 512;

/// Traces and reports; gives the program's own exit status if it was run.
pub fn run(args: &Inspect) -> Result<ExitCode, Failure> {
    if let Some(folder) = &args.read {
        report::print(args, folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    let program = find_program(&args.command[0])?;
    let library = find_library(LIBRARY, OVERRIDE)?;
    let wanted = choose::wanted(args, &program)?;
    let max_size = largest_file(args.max_size)?;
    let output = output(args);
    let folder = Folder::create(&output)?;
    let clock = Clock::choose();
    let variables: [(&'static str, OsString); 8] = [
        ("LD_PRELOAD", preload(&library, env::var_os("LD_PRELOAD").as_deref())),
        ("SYNCLINE_TRACE", folder.path().into()),
        ("SYNCLINE_CLOCK", clock.kind.to_string().into()),
        ("SYNCLINE_TICKS_PER_SECOND", clock.ticks_per_second.to_string().into()),
        ("SYNCLINE_MAX_SIZE", max_size.to_string().into()),
        ("SYNCLINE_INSPECT_BUDGET", args.budget.to_string().into()),
        ("SYNCLINE_INSPECT_SITES", wanted.into()),
        ("SYNCLINE_FILTERS", filters().to_string().into()),
    ];
    let ending = run_in(&folder, &program, &args.command, variables)?;
    let bytes = tidy(&folder, &output, args.from.as_deref());
    if told_to_end() && bytes > QUICK {
        // Standard error may be closed.
        let _ = writeln!(stderr(), "syncline: told to end: no report is made now");
    } else if !args.trace_only {
        hear_signals();
        report::print(args, &output)?;
    }
    Ok(exit_code(ending))
}

/// Filters of system calls (seccomp) that this process runs under, as a container's do: programs are
/// left alone that run under more of them.
fn filters() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

/// Where the trace goes: what belongs to a recording lies in its folder.
fn output(args: &Inspect) -> PathBuf {
    let of_recording = || args.from.as_deref().map(trace_of);
    args.output.clone().or_else(of_recording).unwrap_or_else(|| args::DEFAULT_TRACE.into())
}

/// Cuts off what the files could have grown into, and says on standard error what there is; how many
/// bytes that is.
fn tidy(folder: &Folder, shown: &Path, recording: Option<&Path>) -> u64 {
    let writers = Writers::of_newer(folder.path());
    let files = trace_files(folder.path()).unwrap_or_default();
    let (mut bytes, mut dropped) = (0, 0);
    for path in &files {
        let Ok(header) = Trace::header_of(path) else { continue };
        let used = header.arena_offset.saturating_add(header.arena_used);
        dropped += header.dropped;
        // A file that is still written to must keep its size, or its process would die.
        if !writers.has(path, header.pid)
            && let Ok(file) = OpenOptions::new().write(true).open(path)
            && file.metadata().is_ok_and(|meta| meta.len() > used)
        {
            // Failing leaves a file that is longer than it needs to be, and takes no more space.
            let _ = file.set_len(used);
        }
        // What it takes, and not what it could have grown to.
        bytes += fs::metadata(path).map_or(0, |meta| BLOCK * meta.blocks());
    }
    if writers.processes().is_empty() {
        folder.close();
    }
    let processes = counted(files.len() as u64, "process", "processes");
    if dropped > 0 {
        let records = counted(dropped, "record", "records");
        // As below.
        let _ = writeln!(
            stderr(),
            "syncline: {records} found no room, and tracing stopped there; give more with --max-size"
        );
    }
    // Standard error may be closed; the trace is complete all the same.
    let _ = writeln!(
        stderr(),
        "syncline: traced {processes} to {} ({}); `syncline inspect --read {0}` shows it again{}",
        shown.display(),
        size(bytes),
        match recording {
            None => String::new(),
            Some(path) if trace_of(path) == shown => {
                format!(", and `syncline report {}` uses it", path.display())
            }
            Some(path) => {
                format!(
                    ", and `syncline report --trace {} {}` uses it",
                    shown.display(),
                    path.display()
                )
            }
        }
    );
    bytes
}
