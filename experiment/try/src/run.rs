//! Makes one run of the program.
//!
//! The run has a process group of its own, which is killed if the run takes too long or the user
//! interrupts it. The output goes to a file, since a pipe would have to be read meanwhile.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, killpg};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use thiserror::Error;
use wait_timeout::ChildExt;

/// The interval at which the caller is asked whether to continue.
pub(crate) const GLANCE: Duration = Duration::from_millis(100);
/// The number of bytes at the end of the output that an error shows.
const SHOWN: usize = 1000;

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The elapsed time of the run in seconds.
    pub seconds: f64,
    /// The processor time of the program, and of the children that it waited for, in seconds.
    pub processor_seconds: f64,
    /// The output, of standard output and standard error together.
    pub output: Vec<u8>,
}

/// The reason why a run does not count.
#[derive(Debug, Error)]
pub enum Failed {
    /// The program could not be started.
    #[error("can't be run: {0}")]
    Start(#[from] io::Error),
    /// The run could not be prepared.
    #[error("was not run: {0}")]
    Prepare(String),
    /// The program ended with an error or a signal.
    #[error("ended with {0}{1}")]
    Status(String, String),
    /// The run took too long, and was ended.
    #[error("took more than {} s and was ended", .0.as_secs())]
    TooLong(Duration),
    /// The server of a load was not ready in time.
    #[error("was not ready within {} s{}", .0.as_secs(), .1)]
    NotReady(Duration, String),
    /// The load failed.
    #[error("ran, but its load {0}")]
    Load(Box<Failed>),
    /// Another server already answers at the server's address.
    #[error("was not started: something else already answers at {0}")]
    Taken(String),
    /// The user interrupted the run.
    #[error("was interrupted")]
    Interrupted,
}

/// Runs a prepared command, whose output is redirected to a file.
pub(crate) fn run(
    command: &mut Command,
    limit: Option<Duration>,
    interrupted: impl Fn() -> bool,
) -> Result<Sample, Failed> {
    let before = processor_seconds();
    let (mut child, mut output) = start(command)?;
    let started = Instant::now();
    let ended = wait(&mut child, started, limit, interrupted);
    let seconds = started.elapsed().as_secs_f64();
    let processor_seconds = processor_seconds() - before;
    let output = read(&mut output)?;
    let status = ended?;
    if !status.success() {
        return Err(Failed::Status(how(status), end_of(&output)));
    }
    Ok(Sample { seconds, processor_seconds, output })
}

/// Starts a command in a process group of its own, with a file for what it prints.
pub(crate) fn start(command: &mut Command) -> io::Result<(Child, File)> {
    let output = tempfile::tempfile()?;
    let channel = || io::Result::Ok(Stdio::from(output.try_clone()?));
    command.stdin(Stdio::null()).stdout(channel()?).stderr(channel()?).process_group(0);
    Ok((command.spawn()?, output))
}

/// The exit status in words.
pub(crate) fn how(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("signal {signal}"),
        None => format!("status {}", status.code().unwrap_or_default()),
    }
}

pub(crate) fn wait(
    child: &mut Child,
    started: Instant,
    limit: Option<Duration>,
    interrupted: impl Fn() -> bool,
) -> Result<ExitStatus, Failed> {
    loop {
        if let Some(status) = child.wait_timeout(GLANCE)? {
            return Ok(status);
        }
        let too_long = limit.filter(|limit| started.elapsed() > *limit);
        if too_long.is_none() && !interrupted() {
            continue;
        }
        kill(child)?;
        return Err(too_long.map_or(Failed::Interrupted, Failed::TooLong));
    }
}

/// Kills a process, together with the processes in its group.
pub(crate) fn kill(child: &mut Child) -> io::Result<()> {
    let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
    child.wait()?;
    Ok(())
}

/// The processor time in seconds of all children that were waited for.
pub(crate) fn processor_seconds() -> f64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0.0, |usage| {
        let both = usage.user_time() + usage.system_time();
        both.num_microseconds() as f64 / 1e6
    })
}

/// The whole contents of a file.
pub(crate) fn read(file: &mut File) -> io::Result<Vec<u8>> {
    let mut output = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut output)?;
    Ok(output)
}

/// The end of the output, as text for an error.
pub(crate) fn end_of(output: &[u8]) -> String {
    let end = &output[output.len().saturating_sub(SHOWN)..];
    match String::from_utf8_lossy(end).trim() {
        "" => String::new(),
        text => format!(", and printed:\n{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str, limit: Option<Duration>, interrupted: bool) -> Result<Sample, Failed> {
        run(Command::new("/bin/sh").args(["-c", text]), limit, || interrupted)
    }

    #[test]
    fn output_of_both_channels_and_time_are_kept() {
        let sample = shell("echo one; sleep 0.3; echo two >&2", None, false).unwrap();
        assert_eq!(sample.output, b"one\ntwo\n");
        assert!(sample.seconds >= 0.3);
    }

    #[test]
    fn processor_time_is_that_of_the_run() {
        let idle = shell("sleep 0.3", None, false).unwrap();
        let busy = shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done", None, false).unwrap();
        assert!(idle.processor_seconds < 0.2 && busy.processor_seconds > idle.processor_seconds);
    }

    #[test]
    fn bad_ends_are_told() {
        let status = shell("echo why; exit 3", None, false).unwrap_err().to_string();
        assert_eq!(status, "ended with status 3, and printed:\nwhy");
        assert_eq!(
            shell("kill -9 $$", None, false).unwrap_err().to_string(),
            "ended with signal 9"
        );
        assert!(matches!(run(&mut Command::new("/no"), None, || false), Err(Failed::Start(_))));
    }

    #[test]
    fn what_takes_too_long_is_ended_with_its_children() {
        let started = Instant::now();
        let long = shell("sleep 30 & sleep 30; wait", Some(Duration::from_millis(200)), false);
        assert!(matches!(long, Err(Failed::TooLong(_))));
        assert!(matches!(shell("sleep 30", None, true), Err(Failed::Interrupted)));
        assert!(started.elapsed() < Duration::from_secs(15));
    }
}
