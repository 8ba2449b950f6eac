//! `syncline tune`: finds the best lock for each call site that costs time, and writes a policy.

pub mod args;
mod show;

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, Write, stderr, stdout};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::Ordering::Relaxed;

use syncline_analysis::model::Process;
use syncline_analysis::{Analysis, Error, Options};
use syncline_experiments::Search;
use syncline_policy::{Files, Plan, Policy};
use syncline_present::terminal::wrapped;
use syncline_targets::objects::{Target, targets};
use syncline_try::{Experiment, Step, once};

use crate::attempt::{MISS, OWN, begin, explain, notice_interrupts, progress_bar, variant};
use crate::exec::{files, planned};
use crate::failure::{Failure, RECORD_FAILED};
use crate::record::find_program;
use crate::terminal::style;
use args::Tune;

const NOTHING: &str = "No other lock could save this program time, so nothing was tried.\n";

/// The number of recordings of the program. Several are needed because waiting times differ from
/// run to run, most of all if there are more threads than processors.
const RECORDINGS: usize = 3;

/// Finds the locks, writes the policy, and prints what was tried.
pub fn run(args: &Tune) -> Result<ExitCode, Failure> {
    let program = find_program(&args.program.command[0])?;
    let interrupted = notice_interrupts().map_err(|e| Failure::new(RECORD_FAILED, e))?;
    let interrupted = || interrupted.load(Relaxed);
    check_writable(&args.output)?;
    let bar = progress_bar(1);
    let mut recorded = Vec::new();
    match &args.from {
        Some(recording) => recorded.push(load(recording)?),
        None => {
            bar.set_length(RECORDINGS as u64);
            for _ in 0..RECORDINGS {
                begin(&bar, "recording");
                recorded.extend(record(args, &program, interrupted)?);
            }
        }
    }
    let Some(process) = recorded.first() else {
        bar.finish_and_clear();
        return say(NOTHING);
    };
    // The recorded program can be another one, which the command has started.
    let tuned = match Path::new(&process.executable).is_file() {
        true => PathBuf::from(&process.executable),
        false => program.clone(),
    };
    let files = files(&tuned)?;
    let mut targets = targets(&recorded, &args.lock);
    targets.truncate(args.places);
    if targets.is_empty() {
        bar.finish_and_clear();
        return say(NOTHING);
    }
    let policy = Policy {
        program: (tuned.file_name() != program.file_name())
            .then(|| tuned.to_string_lossy().into_owned()),
        build_ids: build_ids(&files, &targets),
        ..Policy::default()
    };
    let variables = |plan: &Plan| {
        planned(plan).map(|added| variant("", added).variables).map_err(|e| e.to_string())
    };
    let experiment = experiment(args, &program);
    let mut search = Search::new(experiment, policy, &files, &variables, &targets);
    let begun = |step: Step<'_>, left: usize| {
        begin(&bar, step.name);
        bar.set_length(bar.position() + left as u64);
    };
    let failed = |failed| explain(&args.program.command[0], failed);
    for target in targets {
        search.target(target, begun, interrupted).map_err(failed)?;
    }
    search.together(begun, interrupted).map_err(failed)?;
    bar.finish_and_clear();
    let report = show::report(&search, &recorded);
    let comment = show::comment(&search, &args.program.command);
    write(&args.output, &search.policy.text(&comment))?;
    say(&wrapped(&report, &style()))
}

fn say(text: &str) -> Result<ExitCode, Failure> {
    stdout().write_all(text.as_bytes()).map_err(|e| Failure::new(RECORD_FAILED, e))?;
    Ok(ExitCode::SUCCESS)
}

/// The program with its own locks, and how it is measured.
fn experiment(args: &Tune, program: &Path) -> Experiment {
    let mut command = args.program.command.clone();
    command[0] = program.into();
    Experiment {
        command,
        own: variant(OWN, Vec::new()),
        others: Vec::new(),
        looks: args.looks(),
        measure: args.measuring.measure(),
        miss: MISS,
        matters: args.mattering.matters(),
        load: args.measuring.load(),
    }
}

/// Checks that the policy can be written, before measuring takes minutes. An existing file is not
/// changed.
fn check_writable(path: &Path) -> Result<(), Failure> {
    let is_new = !path.exists();
    let opened = fs::OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|error| not_written(path, error))?;
    if is_new {
        fs::remove_file(path).map_err(|error| not_written(path, error))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| not_written(path, error))?;
    // An error is ignored: standard error may be closed, and the file is written already.
    let _ = writeln!(stderr(), "syncline: wrote {}", path.display());
    Ok(())
}

fn not_written(path: &Path, error: io::Error) -> Failure {
    let context = format!("can't write {}", path.display());
    Failure::new(RECORD_FAILED, anyhow::Error::new(error).context(context))
        .hint("`-o FILE` names another file for the policy")
}

/// Records a run. If there is a load, it runs against the program. Returns `None` if the run has no
/// call that is recorded.
fn record(
    args: &Tune,
    program: &Path,
    interrupted: impl Fn() -> bool + Copy,
) -> Result<Option<Process>, Failure> {
    let failed = |e: io::Error| Failure::new(RECORD_FAILED, e);
    // The program may continue as another user, so other users may pass through the folder.
    let passable = Permissions::from_mode(0o711);
    let folder = tempfile::Builder::new().permissions(passable).tempdir().map_err(failed)?;
    let recording = folder.path().join("recording");
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.arg("record").arg("-o").arg(&recording).arg("--");
    command.arg(program).args(&args.program.command[1..]);
    once(&mut command, args.measuring.load().as_ref(), None, interrupted)
        .map_err(|failed| explain(&OsString::from("the program"), failed))?;
    match Analysis::load(&recording, &Options::default()) {
        Err(Error::Empty(_) | Error::Nothing { .. }) => Ok(None),
        _ => load(&recording).map(Some),
    }
}

/// The first process of a recording, which is the one that waited most.
fn load(recording: &Path) -> Result<Process, Failure> {
    let analysis = Analysis::load(recording, &Options::default())
        .map_err(|error| Failure::unreadable(recording, error))?;
    analysis.processes.into_iter().next().ok_or_else(|| {
        Failure::message(RECORD_FAILED, format!("{} has no process to tune", recording.display()))
    })
}

/// The build ids of the files that the targets' offsets refer to, by file name.
fn build_ids(files: &Files, targets: &[Target]) -> std::collections::BTreeMap<String, String> {
    let offsets = targets.iter().flat_map(|target| &target.offsets);
    let names = offsets.filter_map(|offset| offset.rsplit_once('+')).map(|(file, _)| file);
    names.filter_map(|file| Some((file.to_owned(), files.build_id(file)?.to_owned()))).collect()
}
