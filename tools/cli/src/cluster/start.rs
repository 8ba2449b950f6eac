//! A rank's program, as a process.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use syncline_fabric::end_with_parent;
use syncline_fabric::host::Error;

use super::unmodified;
use crate::exec::Variables;
use crate::failure::{CANNOT_RECORD, Failure, RECORD_FAILED};

/// Environment variables that each host has for itself.
const OWN_TO_A_HOST: [&str; 7] =
    ["HOSTNAME", "PWD", "TMPDIR", "XDG_RUNTIME_DIR", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY"];

/// How each rank is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    program: OsString,
    /// The words of the command line; the first one is the program as the user has written it.
    words: Vec<OsString>,
    /// Environment variables that are added.
    variables: Vec<(OsString, OsString)>,
    /// Whether the program has to be at the same addresses in all processes.
    has_equal_addresses: bool,
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
            has_equal_addresses: false,
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

    /// Makes the program one that was not written for shared memory, by these environment variables.
    pub fn become_unmodified(&mut self, variables: Variables) {
        self.has_equal_addresses = true;
        self.add(variables);
    }

    /// Prepares this process for starting ranks.
    ///
    /// # Errors
    ///
    /// If the system insists on other addresses in each process, and all have to be equal.
    pub fn prepare(&self) -> Result<(), Failure> {
        if self.has_equal_addresses { unmodified::randomize_no_addresses() } else { Ok(()) }
    }

    /// Makes this independent of this process, so that another machine can start it: adds this
    /// process's environment, and makes the program's path one from the root. Returns the current
    /// folder.
    pub fn leave_process(&mut self) -> io::Result<PathBuf> {
        self.program = std::path::absolute(&self.program)?.into();
        let inherited =
            env::vars_os().filter(|(name, _)| !OWN_TO_A_HOST.iter().any(|own| name == own));
        // Those that were added come later, so they replace inherited ones.
        self.variables.splice(0..0, inherited);
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
        end_with_parent(&mut command);
        command
    }
}

/// The failure if ranks that need this much memory can't be started.
pub fn not_launched(bytes: usize, who: &str) -> impl FnOnce(Error) -> Failure {
    let needed = bytes >> 20;
    let hint = format!("{who} {needed} MiB of memory; a smaller --memory needs less");
    move |error| match error {
        Error::Start(_) => Failure::new(CANNOT_RECORD, error),
        _ => Failure::new(RECORD_FAILED, error).hint(hint),
    }
}
