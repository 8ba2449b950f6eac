//! A program under test, which is run plainly (without Syncline), under `syncline record`, or under
//! `syncline exec`.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::compile::Program;
use crate::limits::run_limited;
use crate::outcome::Outcome;
use crate::paths::{preload_library, replace_library, scratch, syncline, unmodified_library};
use crate::recording::Recording;
use crate::truth::Truth;

/// The time limit of a run, unless a case has another one.
const LIMIT: Duration = Duration::from_secs(30);

/// A program with its arguments, environment variables and expected exit status.
#[derive(Clone, Debug)]
pub struct Case {
    words: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    options: Vec<OsString>,
    status: i32,
    limit: Duration,
}

/// The results of a plain run and of a recorded run, which agree.
#[derive(Debug)]
pub struct Both {
    /// The plain run.
    pub plain: Outcome,
    /// The recorded run.
    pub recorded: Outcome,
    /// The recording that `syncline record` has made.
    pub recording: Recording,
    /// The facts that the program stated about itself in the recorded run.
    pub truth: Truth,
}

impl Case {
    /// A case with this program and no arguments.
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

    /// Sets an environment variable for all runs.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Case {
        self.variables.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Adds an option for the command of Syncline under which the program is run.
    pub fn option(mut self, word: impl AsRef<OsStr>) -> Case {
        self.options.push(word.as_ref().to_owned());
        self
    }

    /// Sets the expected exit status. Without this call, it is 0. If signal N ends the program, the
    /// status is 128 + N.
    pub fn status(mut self, status: i32) -> Case {
        self.status = status;
        self
    }

    /// Sets the time limit of a run.
    pub fn limit(mut self, seconds: u64) -> Case {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// Runs the program plainly.
    ///
    /// # Panics
    /// If the program hangs, or ends with another status than expected.
    #[track_caller]
    pub fn plain(&self) -> Outcome {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        self.run(&mut command)
    }

    /// Runs the program under `syncline record`.
    ///
    /// # Panics
    /// If the program hangs or ends with another status than expected, or if the recording can't be
    /// read.
    #[track_caller]
    pub fn recorded(&self) -> (Outcome, Recording) {
        let folder = scratch();
        let outcome = self.recorded_to(folder.path());
        (outcome, Recording::open(folder))
    }

    /// Runs the program under `syncline record -o FOLDER/recording`. Does not read the recording.
    ///
    /// # Panics
    /// If the program hangs, or ends with another status than expected.
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
    /// If the program hangs, or ends with another status than expected.
    #[track_caller]
    pub fn replaced(&self, locks: &str) -> Outcome {
        replace_library();
        let mut command = Command::new(syncline());
        command.arg("exec").args(["--lock", locks]).args(&self.options);
        command.arg("--").args(&self.words);
        self.run(&mut command)
    }

    /// Runs the program unmodified on this many ranks, under `syncline cluster`.
    ///
    /// # Panics
    /// If the program hangs, or ends with another status than expected.
    #[track_caller]
    pub fn on_ranks(&self, ranks: usize) -> Outcome {
        unmodified_library();
        let mut command = Command::new(syncline());
        command.args(["cluster", "--unmodified", "-n"]).arg(ranks.to_string()).args(&self.options);
        command.arg("--").args(&self.words);
        self.run(&mut command)
    }

    /// Runs the program plainly and recorded. The output and the exit status must be equal.
    ///
    /// # Panics
    /// If they are not equal, or if [`Case::plain`] or [`Case::recorded`] panics.
    #[track_caller]
    pub fn both(&self) -> Both {
        let plain = self.plain();
        let (recorded, recording) = self.recorded();
        assert_same(&plain.behaviour(), &recorded.behaviour());
        let truth = Truth::read(&recorded.stdout);
        Both { plain, recorded, recording, truth }
    }

    /// Runs the program plainly and recorded. The recording must have exactly the operations that
    /// the program says it has made.
    ///
    /// # Panics
    /// If a count differs, if the program states no counts, if the recording is incomplete, or if
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

/// Compares two texts line by line, and panics with the first difference.
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
