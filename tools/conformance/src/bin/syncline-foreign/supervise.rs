//! Runs one command with a time limit, and ends all processes that it leaves.
//!
//! Each run has a process of its own for this, the supervisor. It adopts the orphans among its
//! descendants (`PR_SET_CHILD_SUBREAPER`). So everything that the program starts remains a
//! descendant of the supervisor, even daemons and processes that leave their group or session. When
//! the supervisor has no child any more, no process of the run is left. If the process that
//! compares the runs ends, the supervisor ends the run as well.

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
/// The exit status if the program could not be started.
const NOT_RUN: i32 = 127;

/// A command with its time limit.
#[derive(Debug)]
pub struct Supervised {
    /// The longest time from the command's start to the end of its first process.
    pub limit: Duration,
    /// The program and its arguments.
    pub words: Vec<OsString>,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The program ended by itself, with this status. The status is 128 + N after signal N, and 127
    /// if the program could not be started.
    Status(i32),
    /// The program was killed, because its time was up.
    Hang,
}

impl Supervised {
    /// Runs the command. The command's output goes to two files in the parent folder. Prints on
    /// standard output how the command ended and how many seconds it took, in the form that
    /// [`read`] reads.
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
            // The process that would read the answer has ended.
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

    /// Waits until the child ends. Returns `None` if the process that waits for the answer has
    /// ended.
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
                // This process was an orphan that has ended; there may be more orphans.
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

/// Reads what [`Supervised::run`] has printed: how the command ended, and how long it took. Returns
/// `None` if the text has another form.
pub fn read(said: &str) -> Option<(End, Duration)> {
    let (end, seconds) = said.trim().split_once(' ')?;
    let end = if end == "hang" { End::Hang } else { End::Status(end.parse().ok()?) };
    Some((end, Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?))
}

/// Kills all descendants of this process until there are none.
fn end_descendants() {
    loop {
        for pid in descendants() {
            // An error is ignored: the process may have ended meanwhile.
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
        // The fields come after the last parenthesis. The process's name comes before it, and may
        // contain any character.
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
