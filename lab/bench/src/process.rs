//! A child process, and the resources that it used. `wait4` returns its processor time and its peak
//! of resident memory, including those of its own children for which it waited.
//!
//! At the fork, the kernel initializes a child's peak with its parent's memory. So this process has
//! to stay smaller than the measured processes: outputs go to files, and big files are read in
//! pieces.

use std::fs::{self, File};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{io, mem};

use anyhow::Context;

/// The time within which a process has to end after `SIGTERM`.
const HEED: Duration = Duration::from_secs(5);

/// The resources that a process used, from its start to its end.
pub struct Finished {
    pub wall_seconds: f64,
    /// Processor time on all processors, in user mode and in the kernel.
    pub cpu_seconds: f64,
    pub peak_bytes: f64,
    /// The file with the process's standard output.
    pub stdout: PathBuf,
}

/// A running process. If this value is dropped before the process has ended, the process gets
/// `SIGTERM`, which `syncline record` passes on; if it does not end then, it is killed.
pub struct Running {
    child: Child,
    program: String,
    started: Instant,
    stdout: PathBuf,
    stderr: PathBuf,
    reaped: bool,
}

/// Starts a process whose standard output and standard error go to the files `NAME.out` and
/// `NAME.err`.
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

/// Runs a process until it ends.
pub fn run(command: Command, folder: &Path, name: &str) -> anyhow::Result<Finished> {
    start(command, folder, name)?.finish()
}

impl Running {
    /// Waits for the process's end. A status other than 0 is an error, which quotes the last lines
    /// of its standard error.
    pub fn finish(self) -> anyhow::Result<Finished> {
        self.finish_with(0)
    }

    /// Waits for the process's end with this status. Another status is an error, and so is an end
    /// after the limit.
    pub fn finish_as(self, status: i32, limit: Duration) -> anyhow::Result<Finished> {
        let in_time = ends_within(self.child.id() as libc::pid_t, limit)?;
        let last = || last_lines(&self.stderr);
        anyhow::ensure!(in_time, "{} is not done after {limit:?}: {}", self.program, last());
        self.finish_with(status)
    }

    fn finish_with(mut self, expected: i32) -> anyhow::Result<Finished> {
        let (status, usage) = wait(self.child.id() as libc::pid_t)?;
        let wall_seconds = self.started.elapsed().as_secs_f64();
        self.reaped = true;
        if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != expected {
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
            let pid = self.child.id() as libc::pid_t;
            // SAFETY: the child has not been waited for, so no other process can have its number.
            unsafe { libc::kill(pid, libc::SIGTERM) };
            // Errors can't be reported here.
            if !ends_within(pid, HEED).unwrap_or(false) {
                let _ = self.child.kill();
            }
            let _ = self.child.wait();
        }
    }
}

/// Whether a child that has not been waited for ends within this time.
fn ends_within(pid: libc::pid_t, limit: Duration) -> io::Result<bool> {
    // SAFETY: the arguments of this system call are two numbers.
    let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if handle < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, so nothing else closes it.
    let handle = unsafe { OwnedFd::from_raw_fd(handle as RawFd) };
    // A process's descriptor becomes readable when the process has ended.
    let mut end = libc::pollfd { fd: handle.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let milliseconds = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
    loop {
        // SAFETY: the pointer is to one live value of the right type.
        match unsafe { libc::poll(&mut end, 1, milliseconds) } {
            0 => return Ok(false),
            1 => return Ok(true),
            _ => {}
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn wait(pid: libc::pid_t) -> io::Result<(libc::c_int, libc::rusage)> {
    let mut status = 0;
    // SAFETY: `rusage` consists of integers, for which zero is a value.
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
        start_shell(script, folder).finish()
    }

    fn start_shell(script: &str, folder: &Path) -> Running {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        start(command, folder, "shell").unwrap()
    }

    #[test]
    fn a_finished_process_has_output_and_resource_use() {
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

    #[test]
    fn expected_statuses_succeed_and_late_ends_fail() {
        let folder = tempfile::tempdir().unwrap();
        let ends = |script: &str, status, milliseconds| {
            let running = start_shell(script, folder.path());
            running.finish_as(status, Duration::from_millis(milliseconds)).map(drop)
        };
        ends("exit 3", 3, 60_000).unwrap();
        ends("exit 0", 3, 60_000).unwrap_err();
        let began = Instant::now();
        let late = ends("echo stuck >&2; exec sleep 60", 0, 50).unwrap_err().to_string();
        assert!(late.contains("50ms") && late.contains("stuck"), "{late}");
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
