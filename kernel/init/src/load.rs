//! The loads that the first process can run.

mod files;
mod processes;
mod small;

use std::fs;
use std::process::Command;

use crate::marker;
use crate::options::Options;

/// Runs the load between two markers.
///
/// # Errors
/// A message, if it can't be run or fails.
pub fn run(options: &Options) -> Result<(), String> {
    match options.load.as_str() {
        "small" => between_markers(|| small::run(options.scale)),
        "fs" => {
            files::prepare()?;
            between_markers(|| files::run(options.scale))
        }
        "script" => script(),
        other => Err(format!("there is no load `{other}`")),
    }?;
    export_contention();
    Ok(())
}

/// Runs the recorded part of a load.
fn between_markers<T>(run: impl FnOnce() -> T) -> T {
    trace_contention();
    marker::start();
    let outcome = run();
    marker::stop();
    outcome
}

/// Runs the user's script.
fn script() -> Result<(), String> {
    let mut command = Command::new("/bin/sh");
    command.arg("/load.sh").env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    let status = between_markers(|| command.status());
    let status = status.map_err(|error| format!("/bin/sh: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the load ended with {status}")) }
}

const CONTENTION: &str = "/sys/kernel/tracing/events/lock/contention_begin";

/// Lets the kernel count the beginnings of waits, by the lock's address and the flags of the wait.
fn trace_contention() {
    let _ = fs::write(format!("{CONTENTION}/trigger"), "hist:keys=lock_addr.hex,flags:size=16384");
}

/// Hands over the kernel's counts.
fn export_contention() {
    if let Ok(counts) = fs::read(format!("{CONTENTION}/hist")) {
        marker::export("contention", &counts);
    }
}
