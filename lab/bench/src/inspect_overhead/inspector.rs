//! Runs a program under `syncline inspect`, as a user does.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compare::Side;
use crate::lab::{Lab, built};
use crate::programs::Wrapper;

/// The limit on the cost of tracing.
#[derive(Clone, Copy)]
pub enum Budget {
    /// No limit: each section is traced.
    Unlimited,
    /// The command's default.
    Default,
}

pub struct Inspector {
    syncline: PathBuf,
    trace: PathBuf,
    budget: Budget,
}

impl Inspector {
    /// Finds `syncline` and the tracing library in the folder of this executable.
    pub fn find(lab: &Lab, budget: Budget) -> anyhow::Result<Inspector> {
        let files = ["syncline", "libsyncline_tracer.so"];
        let folder = built(&files, "-p syncline-cli -p syncline-tracer")?;
        Ok(Inspector { syncline: folder.join("syncline"), trace: lab.path("trace"), budget })
    }
}

impl Wrapper for Inspector {
    fn command(&self, side: Side, _: &str, program: &Path) -> anyhow::Result<Command> {
        if side == Side::Baseline {
            return Ok(Command::new(program));
        }
        match fs::remove_dir_all(&self.trace) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e.into()),
            _ => {}
        }
        let mut command = Command::new(&self.syncline);
        command.arg("inspect").arg("--trace-only").arg("-o").arg(&self.trace);
        if let Budget::Unlimited = self.budget {
            command.args(["--budget", "0"]);
        }
        command.arg("--").arg(program);
        Ok(command)
    }
}
