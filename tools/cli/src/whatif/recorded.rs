//! Finds the call sites to slow down: those that the user names, or those of a recording of the
//! program.

use std::path::{Path, PathBuf};

use syncline_analysis::model::{Process, SymbolSource};
use syncline_analysis::{Analysis, Options};
use syncline_targets::sites::{Target, found, named};

use super::args::{MOST_PLACES, WhatIf};
use crate::arguments::DEFAULT_RECORDING;
use crate::failure::{Failure, RECORD_FAILED};

/// A recording of the program.
pub struct Recorded {
    /// The path of the recording.
    pub path: PathBuf,
    /// The process that waited most in the recording.
    pub process: Process,
}

impl Recorded {
    /// The recording that the user names. If none is named, it is the one in the default folder,
    /// provided that it can be read and has the same command. `None` if there is no such recording,
    /// or if it has no process.
    ///
    /// # Errors
    /// If the recording that the user names can't be read.
    pub fn of(args: &WhatIf) -> Result<Option<Recorded>, Failure> {
        let path = match &args.from {
            Some(path) => path.clone(),
            None => PathBuf::from(DEFAULT_RECORDING),
        };
        let loaded = Analysis::load(&path, &Options::default());
        let analysis = match (loaded, &args.from) {
            (Ok(analysis), _) => analysis,
            (Err(error), Some(_)) => return Err(Failure::unreadable(&path, error)),
            (Err(_), None) => return Ok(None),
        };
        let command: Vec<String> =
            args.program.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let is_of_it = analysis.session.as_ref().is_some_and(|session| session.command == command);
        if args.from.is_none() && !is_of_it {
            return Ok(None);
        }
        let process = analysis.processes.into_iter().next();
        Ok(process.map(|process| Recorded { path, process }))
    }

    /// A file of the process that is now another build than the recorded one, if there is one.
    pub fn built_again(&self) -> Option<&str> {
        built_again(&self.process)
    }

    /// The file that the process ran, or `None` if it does not exist any more.
    pub fn executable(&self) -> Option<&Path> {
        let path = Path::new(&self.process.executable);
        path.is_file().then_some(path)
    }
}

/// The call sites to slow down: all that `--site` names or, without `--site`, the first ones of the
/// report, at most `--places`.
///
/// # Errors
/// With `--site`, if it names more than [`MOST_PLACES`]. Without `--site`, if there is no
/// recording, if the program was built again after it was recorded, or if the report has no call
/// site worth slowing down.
pub fn targets(args: &WhatIf, recorded: Option<&Recorded>) -> Result<Vec<Target>, Failure> {
    let process = recorded.map(|recorded| &recorded.process);
    if !args.site.is_empty() {
        let delayed = args.delay.map(super::args::What::delayed);
        if args.site.len() > MOST_PLACES {
            let message = format!("at most {MOST_PLACES} call sites can be slowed down at once");
            return Err(Failure::message(RECORD_FAILED, message));
        }
        return Ok(args.site.iter().map(|name| named(name, delayed, process)).collect());
    }
    let Some(process) = process else {
        return Err(Failure::message(RECORD_FAILED, "there is no recording of this command line")
            .hint("`syncline record -- PROGRAM` makes one; or name a call site with --site"));
    };
    refuse_another_build(process)?;
    let mut found = found(process);
    found.truncate(args.places);
    match found.is_empty() {
        true => {
            Err(Failure::message(RECORD_FAILED, "the report has no call site worth slowing down")
                .hint("name one with --site"))
        }
        false => Ok(found),
    }
}

/// Refuses a program that was built again, since the addresses in a recording belong to the
/// recorded files.
fn refuse_another_build(process: &Process) -> Result<(), Failure> {
    match built_again(process) {
        None => Ok(()),
        Some(path) => {
            let message = format!("{path} is not the build that was recorded");
            Err(Failure::message(RECORD_FAILED, message)
                .hint("record this build, or name a call site with --site"))
        }
    }
}

fn built_again(process: &Process) -> Option<&str> {
    let changed = |m: &&syncline_analysis::model::Module| m.symbols == Some(SymbolSource::Changed);
    process.modules.iter().find(changed).map(|module| module.path.as_str())
}
