//! The runs of a program, one after another. Each is recorded in a folder of its own: the first run
//! in the folder that the user named, and further runs in folders within that one.

use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use syncline_recording::folder::RUN;

use super::args;
use super::child::interrupted;
use super::environment::{self, Environment};
use super::finish::{self, Tidied};
use super::folder::Folder;
use super::run::{Run, run_sampled};
use crate::failure::Failure;

/// The settings that all runs have in common.
pub struct Runs<'a> {
    pub args: &'a args::Record,
    /// The program's file.
    pub program: PathBuf,
    pub environment: Environment,
}

impl Runs<'_> {
    /// Records all runs. If the user asks for the end of the program, there is no further run.
    ///
    /// # Errors
    /// In the same cases as [`Folder::create`], [`run_sampled`] and [`Run::exit_code`].
    pub fn record_all(self, first: &Folder) -> Result<ExitCode, Failure> {
        let (mut run, mut tidied) = self.record(1, first)?;
        let further = self.further(&mut run, &mut tidied);
        // The first folder is closed only here: the folders of further runs are within it, and
        // other users' processes reach them through it.
        if !tidied.in_use {
            first.close();
        }
        further?;
        if !tidied.empty {
            finish::say_what_to_do(&self.args.output);
        }
        first.remove_older();
        run.exit_code(tidied.full)
    }

    /// Records the runs after the first. If a run fails and none has failed before, `run` becomes
    /// that run.
    fn further(&self, run: &mut Run, tidied: &mut Tidied) -> Result<(), Failure> {
        for number in 2..=self.args.runs {
            if tidied.full || interrupted() {
                break;
            }
            let folder = Folder::create(&self.folder(number))?;
            let (next, found) = self.record(number, &folder)?;
            if !found.in_use {
                folder.close();
            }
            tidied.full |= found.full;
            tidied.empty &= found.empty;
            tidied.in_use |= found.in_use;
            if run.succeeded() {
                *run = next;
            }
        }
        Ok(())
    }

    fn record(&self, number: u32, folder: &Folder) -> Result<(Run, Tidied), Failure> {
        let runs = self.args.runs;
        if runs > 1 {
            // An error is ignored: standard error may be closed, and there is no other place for
            // the message.
            let _ = writeln!(stderr(), "syncline: run {number} of {runs}");
        }
        let variables = self.environment.variables(folder.variables(environment::FOLDER)?);
        let (command, windows) = (&self.args.command, self.args.windows());
        let run = run_sampled(folder, &self.program, command, variables, windows)?;
        Ok((run, finish::tidy_and_summarize(folder, &self.folder(number))))
    }

    /// The folder in which a run is recorded.
    fn folder(&self, number: u32) -> PathBuf {
        let output: &Path = &self.args.output;
        match number {
            1 => output.to_owned(),
            _ => output.join(format!("{RUN}{number}")),
        }
    }
}
