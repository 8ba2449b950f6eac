//! Runs a program under `syncline record`, as a user does.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use syncline_recording::{Class, ProcessFile, process_files};

use crate::compare::Side;
use crate::lab::{Lab, built};
use crate::programs::Wrapper;

pub struct Recorder {
    syncline: PathBuf,
    recordings: PathBuf,
}

impl Recorder {
    /// Finds `syncline` and its preloaded library in the folder of this executable.
    pub fn find(lab: &Lab) -> anyhow::Result<Recorder> {
        let files = ["syncline", "libsyncline_recorder.so"];
        let folder = built(&files, "-p syncline-cli -p syncline-recorder")?;
        Ok(Recorder { syncline: folder.join("syncline"), recordings: lab.path("recordings") })
    }

    /// The number of acquiring calls in the latest recording of a case, and the number of
    /// operations for which the recording had no room. Must be called after all measurements, since
    /// reading a big recording makes this process big.
    pub fn acquisitions(&self, case: &str) -> anyhow::Result<(u64, u64)> {
        let (mut acquisitions, mut dropped) = (0, 0);
        for file in process_files(&self.recording(case)).context(case.to_owned())? {
            let process = ProcessFile::open(&file)?;
            dropped += process.header.dropped_operations;
            for thread in process.threads {
                let takes_lock = |class| matches!(class, Class::Acquire | Class::Try);
                let rows = thread.rows.iter().filter(|row| takes_lock(row.op.class()));
                acquisitions += rows.map(|row| row.counts.calls).sum::<u64>();
            }
        }
        Ok((acquisitions, dropped))
    }

    /// `syncline`, without arguments.
    pub fn syncline(&self) -> Command {
        Command::new(&self.syncline)
    }

    /// The folder of the latest recording of a case.
    pub fn recording(&self, case: &str) -> PathBuf {
        self.recordings.join(case.replace(|c: char| !c.is_ascii_alphanumeric(), "-"))
    }
}

impl Wrapper for Recorder {
    fn command(&self, side: Side, case: &str, program: &Path) -> anyhow::Result<Command> {
        if side == Side::Baseline {
            return Ok(Command::new(program));
        }
        let recording = self.recording(case);
        match fs::remove_dir_all(&recording) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e.into()),
            _ => {}
        }
        fs::create_dir_all(&self.recordings)?;
        let mut command = self.syncline();
        command.arg("record").arg("-o").arg(recording).arg("--").arg(program);
        Ok(command)
    }
}
