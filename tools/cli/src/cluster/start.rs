//! A rank's program, as a process.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

/// How each rank is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    program: OsString,
    /// The words of the command line; the first one is the program as the user has written it.
    words: Vec<OsString>,
    /// Environment variables that are added.
    variables: Vec<(OsString, OsString)>,
}

impl Start {
    /// This program, with these words and environment variables.
    pub fn new(
        program: &Path,
        words: &[OsString],
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Start {
        let mut start = Start {
            program: program.to_owned().into(),
            words: words.to_owned(),
            variables: Vec::new(),
        };
        start.add(variables);
        start
    }

    /// Adds environment variables.
    pub fn add(
        &mut self,
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) {
        let variables = variables.into_iter();
        self.variables.extend(variables.map(|(name, value)| (name.into(), value.into())));
    }

    /// Makes the program's path one that is valid in any folder. Returns the current folder.
    pub fn leave_folder(&mut self) -> std::io::Result<PathBuf> {
        self.program = std::path::absolute(&self.program)?.into();
        env::current_dir()
    }

    /// The command of a rank. It ends when this process ends. Only rank 0 gets the standard input.
    pub fn command(&self, rank: usize) -> Command {
        let mut command = Command::new(&self.program);
        command.arg0(&self.words[0]).args(&self.words[1..]);
        command.envs(self.variables.iter().cloned());
        if rank > 0 {
            command.stdin(Stdio::null());
        }
        let parent = std::process::id();
        // SAFETY: between fork and exec, `end_with` only makes two system calls and allocates
        // nothing.
        unsafe { command.pre_exec(move || end_with(parent)) };
        command
    }
}

/// Makes this process end when Syncline, its parent, ends.
fn end_with(parent: u32) -> std::io::Result<()> {
    use nix::sys::{prctl, signal::Signal};
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // Syncline may have ended before the call above.
    if nix::unistd::getppid().as_raw() as u32 != parent {
        return Err(std::io::ErrorKind::BrokenPipe.into());
    }
    Ok(())
}
