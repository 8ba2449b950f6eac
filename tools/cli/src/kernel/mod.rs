//! `syncline kernel`: boots a kernel in QEMU, follows its critical sections while a load runs, and
//! says which data they touch.
//!
//! The steps: find the kernel, the plugin and the guest's first process; make the folder; learn the
//! kernel's symbols and types, if the kernel is new; run the load; complete the folder; report.

pub mod args;
mod progress;
mod report;
mod say;
mod show;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::{env, fs};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use syncline_fabric::available_memory;
use syncline_kernel::run::{self, Settings};
use syncline_kernel::{kernel, machine};
use syncline_trace::Trace;

use crate::failure::{Failure, REPORT_FAILED};
use crate::quoted::typed;
use crate::record::{Folder, find_part, largest_file};
use args::Kernel;
use progress::Console;
use say::{failure, say};

/// The plugin of QEMU, and the environment variable that names another file for it, for developers
/// of Syncline.
const PLUGIN: [&str; 2] = ["libsyncline_kernel_plugin.so", "SYNCLINE_KERNEL_PLUGIN"];
/// The guest's first process, and the environment variable that names another file for it.
const INIT: [&str; 2] = ["syncline-kernel-init", "SYNCLINE_KERNEL_INIT"];

/// Runs a load and reports, or reports on an existing recording.
pub fn run(args: &Kernel) -> Result<ExitCode, Failure> {
    let outcome = match &args.read {
        Some(folder) => report::print(args, folder),
        None => record(args),
    };
    // This command never passes on a program's exit status, so all of its failures have this
    // status.
    outcome.map_err(|failure| failure.with_status(REPORT_FAILED))
}

fn record(args: &Kernel) -> Result<ExitCode, Failure> {
    let cache = cache()?;
    let settings = settings(args, &cache)?;
    let ends = ends()?;
    let folder = Folder::create(&args.output)?;
    let (learned, told) = (&mut Console::new("learning the kernel"), announced(&settings));
    say(&told);
    let learned = run::learn(&settings, &cache, &mut |line| learned.line(line), &ends);
    let learned = learned.map_err(failure).inspect_err(|_| folder.discard())?;
    let mut console = Console::new("running the load");
    let outcome =
        run::run(&settings, &learned, folder.path(), &mut |line| console.line(line), &ends);
    drop(console);
    let full = tidy(&folder);
    folder.remove_older();
    match outcome {
        Ok(_) if full => {
            report::print(args, &args.output)?;
            let message = "the disk was full: this report covers a part of the run, and some names \
                           are missing";
            Err(Failure::message(REPORT_FAILED, message).hint("choose another folder with -o"))
        }
        Ok(_) => report::print(args, &args.output),
        Err(error) => {
            let failure = failure(error);
            let is_kept =
                matches!(syncline_trace::trace_files(folder.path()), Ok(f) if !f.is_empty());
            Err(match is_kept {
                true => failure.hint(format!(
                    "what was recorded before that is kept; `syncline kernel --read {}` reports on it",
                    typed(&args.output)
                )),
                false => failure,
            })
        }
    }
}

/// The settings of the run. Checks what can be checked before anything is changed.
fn settings(args: &Kernel, cache: &Path) -> Result<Settings, Failure> {
    if machine::qemu().is_none() {
        return Err(failure(machine::missing()));
    }
    let [plugin, init] = [PLUGIN, INIT].map(|[name, variable]| find_part(name, variable));
    if let Some(files) = args.files.as_ref().filter(|files| !files.is_dir()) {
        let message = format!("--files names {}, which is not a folder", files.display());
        return Err(Failure::message(REPORT_FAILED, message));
    }
    enough_memory(args.memory)?;
    Ok(Settings {
        kernel: kernel::find(args.kernel.as_deref(), cache).map_err(failure)?,
        init: init?,
        plugin: plugin?,
        load: args.load.clone(),
        scale: args.scale,
        files: args.files.clone(),
        processors: args.cpus,
        memory: args.memory,
        quantum: args.quantum,
        no_mitigations: !args.mitigations,
        largest: largest_file(args.max_size)?,
        timeout: args.timeout,
        words: Vec::new(),
    })
}

/// Refuses a guest that needs more memory than is free on this machine. Otherwise this machine's
/// kernel would kill a process.
fn enough_memory(mebibytes: u32) -> Result<(), Failure> {
    match available_memory().map(|bytes| bytes >> 20) {
        Some(free) if free < mebibytes.into() => Err(Failure::message(
            REPORT_FAILED,
            format!("the guest needs {mebibytes} MiB of memory, but only {free} MiB are free here"),
        )
        .hint("give it less with --memory")),
        _ => Ok(()),
    }
}

/// The folder for unpacked kernels, and for the symbols and types of known kernels.
fn cache() -> Result<PathBuf, Failure> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || absolute("HOME").map(|home| home.join(".cache"));
    let cache = absolute("XDG_CACHE_HOME").or_else(home).map(|folder| folder.join("syncline"));
    let Some(cache) = cache else {
        let message =
            "there is no folder for what is learned about kernels: HOME is not an absolute path";
        return Err(Failure::message(REPORT_FAILED, message).hint("set HOME or XDG_CACHE_HOME"));
    };
    fs::create_dir_all(&cache).map_err(|error| {
        let context = format!("can't create {}", cache.display());
        Failure::new(REPORT_FAILED, anyhow::Error::new(error).context(context))
            .hint("name another folder in XDG_CACHE_HOME")
    })?;
    Ok(cache)
}

/// Returns a flag that is set when a user ends the command, by SIGINT, SIGTERM or SIGHUP.
fn ends() -> Result<Arc<AtomicBool>, Failure> {
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The second signal ends Syncline at once.
        let second = Arc::clone(&ends);
        signal_hook::flag::register_conditional_default(signal, second)
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&ends)))
            .map_err(|error| Failure::new(REPORT_FAILED, error))?;
    }
    Ok(ends)
}

fn announced(settings: &Settings) -> String {
    let lasts = match settings.load.seconds(settings.scale) {
        Some(seconds) => format!("; that takes some {seconds} seconds, more on a busy machine"),
        None => String::new(),
    };
    format!(
        "Linux {} boots on {} virtual processors and runs {}{lasts}",
        settings.kernel.release,
        settings.processors,
        settings.load.told(),
    )
}

/// Cuts the trace to the length that is used. Returns whether the disk was full.
fn tidy(folder: &Folder) -> bool {
    let mut full = false;
    folder.for_each_file("trace", |path, file, meta| {
        let Ok(header) = Trace::header_of(&path) else { return };
        full |= header.disk_full != 0;
        let used = header.arena_offset.saturating_add(header.arena_used);
        if meta.len() > used {
            // An error is ignored: then the file stays longer than needed, but takes no more space.
            let _ = file.set_len(used);
        }
    });
    folder.close();
    full
}
