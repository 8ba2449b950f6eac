//! Runs one command with a limit on its time, and ends all processes that it leaves behind.
//!
//! A process of its own does this for each run. It adopts the orphans among its descendants
//! (`PR_SET_CHILD_SUBREAPER`). So everything that the program starts stays below this process, even
//! daemons and processes that leave their group or session. When this process has no child any
//! more, nothing is left. If the process that compares goes away, the run is ended as well.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

const POLL: Duration = Duration::from_millis(2);
/// The status if the program could not be started.
const NOT_RUN: i32 = 127;

/// A command, and how long it may take.
#[derive(Debug)]
pub struct Supervised {
    /// The longest time from the command's start to the end of its first process.
    pub limit: Duration,
    /// The program and its arguments.
    pub words: Vec<OsString>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status; 128 + N after signal N.
    Status(i32),
    /// It was ended, since its time was up.
    Hang,
}

impl Supervised {
    /// Runs the command, and prints on standard output (the command's own goes to a file) how it
    /// ended and after how many seconds. [`read`] reads that.
    pub fn run(&self) -> ExitCode {
        set_child_subreaper(true).expect("Linux 3.4 has it");
        let parent = parent_id();
        let started = Instant::now();
        let end = self
            .start()
            .map_or(Some(End::Status(NOT_RUN)), |child| self.wait(child, || parent_id() != parent));
        let seconds = started.elapsed().as_secs_f64();
        end_descendants();
        match end {
            Some(End::Status(status)) => println!("{status} {seconds}"),
            Some(End::Hang) => println!("hang {seconds}"),
            // The process that would read the answer is gone.
            None => return ExitCode::FAILURE,
        }
        ExitCode::SUCCESS
    }

    fn start(&self) -> Option<Pid> {
        let (program, arguments) = self.words.split_first()?;
        let files = ["stdout", "stderr"].map(|name| fs::File::create(format!("../{name}")));
        let [Ok(out), Ok(err)] = files else { return None };
        let mut command = Command::new(program);
        command.args(arguments).stdin(std::process::Stdio::null()).stdout(out).stderr(err);
        let child = command.process_group(0).spawn().ok()?;
        Some(Pid::from_raw(i32::try_from(child.id()).ok()?))
    }

    /// Waits for the end of the child; `None` if the process that waits for the answer is gone.
    fn wait(&self, child: Pid, mut abandoned: impl FnMut() -> bool) -> Option<End> {
        let deadline = Instant::now() + self.limit;
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, status)) if pid == child => {
                    return Some(End::Status(status));
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => {
                    return Some(End::Status(128 + signal as i32));
                }
                Ok(WaitStatus::StillAlive) | Err(_) => {}
                // An orphan that has ended; there may be more.
                Ok(_) => continue,
            }
            if abandoned() {
                return None;
            }
            if Instant::now() > deadline {
                return Some(End::Hang);
            }
            thread::sleep(POLL);
        }
    }
}

/// Reads what [`Supervised::run`] printed: how the command ended, and after how long. `None` if it
/// printed anything else.
pub fn read(said: &str) -> Option<(End, Duration)> {
    let (end, seconds) = said.trim().split_once(' ')?;
    let end = if end == "hang" { End::Hang } else { End::Status(end.parse().ok()?) };
    Some((end, Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?))
}

/// Kills all processes below this one until there is none.
fn end_descendants() {
    loop {
        for pid in descendants() {
            // It may have ended meanwhile.
            let _ = kill(pid, Signal::SIGKILL);
        }
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Err(Errno::ECHILD) => return,
                Ok(WaitStatus::StillAlive) => break,
                _ => {}
            }
        }
        thread::sleep(POLL);
    }
}

/// All descendants of this process.
fn descendants() -> Vec<Pid> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name before the last parenthesis may contain anything.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        if let Some(parent) = fields.split_whitespace().nth(1).and_then(|field| field.parse().ok())
        {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![nix::unistd::getpid().as_raw()];
    while let Some(pid) = next.pop() {
        let below = children.remove(&pid).unwrap_or_default();
        found.extend(below.iter().map(|pid| Pid::from_raw(*pid)));
        next.extend(below);
    }
    found
}
