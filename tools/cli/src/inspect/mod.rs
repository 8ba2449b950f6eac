//! `syncline inspect`: runs a program with the tracing library loaded, and says which data its
//! critical sections touch.

pub mod args;
mod choose;
mod lock;
mod names;
mod of_recording;
mod report;
mod show;
pub mod tables;

use std::ffi::OsString;
use std::io::{Write, stderr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use syncline_recording::Writers;
use syncline_recording::clock::Clock;
use syncline_trace::Trace;

use crate::failure::Failure;
use crate::quoted::typed;
use crate::record::{
    Folder, find_library, find_program, got_sigterm, hear_signals, largest_file, note_refusal,
    preload, refuse_leak_checker, run_in,
};
use args::Inspect;
pub use of_recording::inspections;
use of_recording::trace_of;
pub use report::free_memory;
use syncline_present::number::{self, counted};

/// The library that traces critical sections.
const LIBRARY: &str = "libsyncline_tracer.so";
/// The environment variables that tell the library the folder of the trace.
const FOLDER: [&str; 3] = ["SYNCLINE_TRACE", "SYNCLINE_TRACE_ID", "SYNCLINE_TRACE_OTHERS"];
/// The environment variable that names another file for this library, for developers of Syncline.
const OVERRIDE: &str = "SYNCLINE_INSPECT";

/// A trace up to this size, in bytes, is read within about a second.
const QUICK: u64 = 16 << 20;

/// The size of the blocks in which the file system counts the space of a file, in bytes.
const BLOCK: u64 = 512;

/// Traces a program and reports, or reports on an existing trace. If a program was run, returns its
/// exit status.
pub fn run(args: &Inspect) -> Result<ExitCode, Failure> {
    if let Some(folder) = &args.read {
        report::print(args, folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    let output = output(args);
    let prepared = prepare(args).inspect_err(|why| note_refusal(&output, &args.command, why));
    let (program, library, wanted, max_size) = prepared?;
    let folder = Folder::create(&output)?;
    let clock = Clock::choose();
    let mut variables: Vec<(&'static str, OsString)> = vec![
        ("LD_PRELOAD", preload(&library, env::var_os("LD_PRELOAD").as_deref())),
        ("SYNCLINE_CLOCK", clock.kind.to_string().into()),
        ("SYNCLINE_TICKS_PER_SECOND", clock.ticks_per_second.to_string().into()),
        ("SYNCLINE_MAX_SIZE", max_size.to_string().into()),
        ("SYNCLINE_INSPECT_BUDGET", args.budget.to_string().into()),
        ("SYNCLINE_INSPECT_SITES", wanted.into()),
        ("SYNCLINE_FILTERS", filters().to_string().into()),
    ];
    variables.extend(folder.variables(FOLDER)?);
    let run = run_in(&folder, &program, &args.command, variables)?;
    let traced = tidy(&folder, &output, args.from.as_deref());
    folder.remove_older();
    if got_sigterm() && traced.bytes > QUICK {
        // An error is ignored: standard error may be closed.
        let _ = writeln!(
            stderr(),
            "syncline: no report is made now, because SIGTERM asked this command to end"
        );
    } else if !args.trace_only {
        hear_signals();
        report::print(args, &output)?;
    }
    run.exit_code(traced.full)
}

/// Finds the program, the tracing library and the locks to trace. Fails before anything is changed
/// if one of them can't be used. The last result is the largest size of a file.
fn prepare(args: &Inspect) -> Result<(PathBuf, PathBuf, String, u64), Failure> {
    let program = find_program(&args.command[0])?;
    refuse_leak_checker(&program)?;
    let library = find_library(LIBRARY, OVERRIDE)?;
    let wanted = choose::wanted(args, &program)?;
    Ok((program, library, wanted, largest_file(args.max_size)?))
}

/// The number of system-call filters (seccomp) that this process runs under, such as those of a
/// container. Processes with more filters than this are not traced.
fn filters() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

/// The folder for the trace. With --from and without -o, it is in the recording's folder.
fn output(args: &Inspect) -> PathBuf {
    let of_recording = || args.from.as_deref().map(trace_of);
    args.output.clone().or_else(of_recording).unwrap_or_else(|| args::DEFAULT_TRACE.into())
}

/// The state of the trace after the run.
struct Traced {
    /// The bytes that the trace's files take on the disk.
    bytes: u64,
    /// Whether the disk had no room for a process's file.
    full: bool,
}

/// Cuts the files to the length that is used, and prints what was traced on standard error.
fn tidy(folder: &Folder, shown: &Path, recording: Option<&Path>) -> Traced {
    let writers = Writers::of_newer(folder.path());
    let (mut files, mut bytes, mut dropped, mut full) = (0, 0, 0, false);
    folder.for_each_file("trace", |path, file, meta| {
        files += 1;
        full |= meta.len() == 0;
        let Ok(header) = Trace::header_of(&path) else { return };
        full |= header.disk_full != 0;
        dropped += header.dropped;
        let used = header.arena_offset.saturating_add(header.arena_used);
        // If a process still writes to the file, cutting it would kill the process.
        if !writers.has(&path, header.pid) && meta.len() > used {
            // An error is ignored: then the file stays longer than needed, but takes no more space.
            let _ = file.set_len(used);
        }
        // This counts the space that the file takes, which can be less than its length.
        bytes += BLOCK * meta.blocks();
    });
    if writers.processes().is_empty() {
        folder.close();
    }
    let processes = counted(files as usize, "process");
    if dropped > 0 {
        let records = counted(dropped as usize, "record");
        // An error is ignored: standard error may be closed.
        let _ = writeln!(
            stderr(),
            "syncline: the trace is full: {records} did not fit, and tracing stopped there; raise --max-size"
        );
    }
    // An error is ignored: standard error may be closed, and the trace is complete in any case.
    let _ = writeln!(
        stderr(),
        "syncline: traced {processes} to {} ({})\nsyncline: `syncline inspect --read {}` shows this again{}",
        shown.display(),
        number::bytes(bytes),
        typed(shown),
        match recording {
            None => String::new(),
            Some(path) if trace_of(path) == shown => {
                format!("\nsyncline: `syncline report {}` uses this trace", typed(path))
            }
            Some(path) => {
                format!(
                    "\nsyncline: `syncline report --trace {} {}` uses this trace",
                    typed(shown),
                    typed(path)
                )
            }
        }
    );
    Traced { bytes, full }
}
