//! A child process, and what it used: `wait4` tells its processor time and its peak of
//! resident memory, with those of its own children that it waited for.
//!
//! The kernel lets a child's peak start at what its parent held when it was forked, so this
//! process has to stay smaller than what it measures: outputs go to files, and big files
//! are read in pieces.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use std::{io, mem};

use anyhow::Context;

/// What a process used, from its start to its end.
pub struct Finished {
    pub wall_seconds: f64,
    /// On all processors, in user mode and in the kernel.
    pub cpu_seconds: f64,
    pub peak_bytes: f64,
    /// The file with its standard output.
    pub stdout: PathBuf,
}

/// Ended by `SIGTERM`, which `syncline record` passes on, if it is dropped before it finished.
pub struct Running {
    child: Child,
    program: String,
    started: Instant,
    stdout: PathBuf,
    stderr: PathBuf,
    reaped: bool,
}

/// Starts it with its output and errors going to files `NAME.out` and `NAME.err`.
pub fn start(mut command: Command, folder: &Path, name: &str) -> anyhow::Result<Running> {
    let program = command.get_program().to_string_lossy().into_owned();
    let stdout = folder.join(format!("{name}.out"));
    let stderr = folder.join(format!("{name}.err"));
    command.stdin(Stdio::null());
    command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
    let started = Instant::now();
    let child = command.spawn().with_context(|| format!("{program} can't be started"))?;
    Ok(Running { child, program, started, stdout, stderr, reaped: false })
}

/// Runs it to its end.
pub fn run(command: Command, folder: &Path, name: &str) -> anyhow::Result<Finished> {
    start(command, folder, name)?.finish()
}

impl Running {
    /// Waits for its end. An end other than status 0 is an error, which cites what the
    /// process wrote last.
    pub fn finish(mut self) -> anyhow::Result<Finished> {
        let (status, usage) = wait(self.child.id() as libc::pid_t)?;
        let wall_seconds = self.started.elapsed().as_secs_f64();
        self.reaped = true;
        if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
            anyhow::bail!(
                "{} failed (wait status {status:#x}): {}",
                self.program,
                last_lines(&self.stderr)
            );
        }
        let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
        Ok(Finished {
            wall_seconds,
            cpu_seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            peak_bytes: usage.ru_maxrss as f64 * 1024.0,
            stdout: mem::take(&mut self.stdout),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            // SAFETY: the child was not waited for yet, so its number is still its own.
            unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
            // Nobody is left to tell if this fails.
            let _ = self.child.wait();
        }
    }
}

fn wait(pid: libc::pid_t) -> io::Result<(libc::c_int, libc::rusage)> {
    let mut status = 0;
    // SAFETY: `rusage` is made of integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live values of the right type.
        if unsafe { libc::wait4(pid, &mut status, 0, &mut usage) } == pid {
            return Ok((status, usage));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn last_lines(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, folder: &Path) -> anyhow::Result<Finished> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, folder, "shell")
    }

    #[test]
    fn tells_output_and_use() {
        let folder = tempfile::tempdir().unwrap();
        let finished = shell("echo hello; sleep 0.05", folder.path()).unwrap();
        assert_eq!(fs::read_to_string(finished.stdout).unwrap(), "hello\n");
        assert!(finished.wall_seconds >= 0.05);
        assert!(finished.cpu_seconds < finished.wall_seconds);
        assert!(finished.peak_bytes > 100_000.0);
    }

    #[test]
    fn a_failure_cites_what_was_written_last() {
        let folder = tempfile::tempdir().unwrap();
        let Err(error) = shell("echo no such lock >&2; exit 3", folder.path()) else {
            panic!("status 3 is a failure");
        };
        assert!(error.to_string().contains("no such lock"), "{error}");
    }
}
