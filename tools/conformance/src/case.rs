//! One program, run plainly and under `syncline record`.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::compile::Program;
use crate::limits::run_limited;
use crate::outcome::Outcome;
use crate::paths::{preload_library, replace_library, scratch, syncline};
use crate::recording::Recording;
use crate::truth::Truth;

/// The longest run of a program, unless a case says otherwise.
const LIMIT: Duration = Duration::from_secs(30);

/// A program with its arguments and surroundings.
#[derive(Clone, Debug)]
pub struct Case {
    words: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    options: Vec<OsString>,
    status: i32,
    limit: Duration,
}

/// A plain run and a recorded one, which agree.
#[derive(Debug)]
pub struct Both {
    /// The plain run.
    pub plain: Outcome,
    /// The recorded run.
    pub recorded: Outcome,
    /// What was recorded.
    pub recording: Recording,
    /// What the recorded program stated about itself.
    pub truth: Truth,
}

impl Case {
    /// The program without arguments.
    pub fn new(program: &Program) -> Case {
        Case {
            words: vec![program.path().into()],
            variables: Vec::new(),
            options: Vec::new(),
            status: 0,
            limit: LIMIT,
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Case {
        self.words.push(word.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args<T: AsRef<OsStr>>(self, words: impl IntoIterator<Item = T>) -> Case {
        words.into_iter().fold(self, Case::arg)
    }

    /// Sets an environment variable, for both runs.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Case {
        self.variables.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Adds an option of the command that the program runs under.
    pub fn option(mut self, word: impl AsRef<OsStr>) -> Case {
        self.options.push(word.as_ref().to_owned());
        self
    }

    /// Sets the expected status, if that is not 0; 128 + N for signal N.
    pub fn status(mut self, status: i32) -> Case {
        self.status = status;
        self
    }

    /// Sets the longest run.
    pub fn limit(mut self, seconds: u64) -> Case {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// Runs the program plainly.
    ///
    /// # Panics
    /// If it hangs or ends with another status.
    #[track_caller]
    pub fn plain(&self) -> Outcome {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        self.run(&mut command)
    }

    /// Runs the program under `syncline record`.
    ///
    /// # Panics
    /// If it hangs or ends with another status, or if its recording can't be read.
    #[track_caller]
    pub fn recorded(&self) -> (Outcome, Recording) {
        let folder = scratch();
        let outcome = self.recorded_to(folder.path());
        (outcome, Recording::open(folder))
    }

    /// Runs the program under `syncline record -o FOLDER/recording`, and does not read the
    /// recording.
    ///
    /// # Panics
    /// If it hangs or ends with another status.
    #[track_caller]
    pub fn recorded_to(&self, folder: &Path) -> Outcome {
        preload_library();
        let mut command = Command::new(syncline());
        command.arg("record").arg("-o").arg(folder.join("recording")).args(&self.options);
        command.arg("--").args(&self.words);
        self.run(&mut command)
    }

    /// Runs the program under `syncline exec --lock LOCKS`.
    ///
    /// # Panics
    /// If it hangs or ends with another status.
    #[track_caller]
    pub fn replaced(&self, locks: &str) -> Outcome {
        replace_library();
        let mut command = Command::new(syncline());
        command.arg("exec").args(["--lock", locks]).args(&self.options);
        command.arg("--").args(&self.words);
        self.run(&mut command)
    }

    /// Runs the program plainly and recorded; output and status must be the same.
    ///
    /// # Panics
    /// If they differ, or if [`Case::plain`] or [`Case::recorded`] panics.
    #[track_caller]
    pub fn both(&self) -> Both {
        let plain = self.plain();
        let (recorded, recording) = self.recorded();
        assert_same(&plain.behaviour(), &recorded.behaviour());
        let truth = Truth::read(&recorded.stdout);
        Both { plain, recorded, recording, truth }
    }

    /// Runs the program plainly and recorded. All operations that the program reports must have
    /// been counted exactly.
    ///
    /// # Panics
    /// If a count differs, if the program reports none, if the recording is incomplete, or if
    /// [`Case::both`] panics.
    #[track_caller]
    pub fn exact(&self) -> Both {
        let both = self.both();
        both.truth.assert_not_empty();
        both.recording.assert_complete();
        both.truth.assert_counted(&both.recording);
        both
    }

    #[track_caller]
    fn run(&self, command: &mut Command) -> Outcome {
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        let outcome = run_limited(command, self.limit);
        outcome.assert_status(self.status);
        outcome
    }
}

/// Compares line by line, and shows the first difference.
#[track_caller]
fn assert_same(plain: &str, recorded: &str) {
    let lines = plain.lines().zip(recorded.lines());
    for (number, (plain, recorded)) in lines.enumerate() {
        assert!(
            plain == recorded,
            "line {} differs\n   plain: {plain}\nrecorded: {recorded}",
            number + 1
        );
    }
    let (before, after) = (plain.lines().count(), recorded.lines().count());
    assert!(before == after, "{before} lines when run plainly, {after} when recorded:\n{recorded}");
}
