//! Runs a command with a time limit.
//!
//! A program that hangs must make only its own test fail. So it runs in its own process group, and
//! the group is killed when the time is up. Its output goes to files, because a pipe would stay
//! open as long as any descendant lives.

use std::fs::File;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::outcome::Outcome;
use crate::paths::scratch;

const POLL: Duration = Duration::from_millis(3);

/// Repeats an attempt until it succeeds, for at most 40 seconds.
///
/// # Panics
/// If no attempt succeeds.
pub fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(40);
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        assert!(Instant::now() < deadline, "waited without success for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Runs the command until it ends, and returns its outcome.
///
/// # Panics
/// If the command can't be started, or is still running after `limit`. The message contains the
/// command's output.
pub fn run_limited(command: &mut Command, limit: Duration) -> Outcome {
    let folder = scratch();
    let (out, err) = (folder.path().join("out"), folder.path().join("err"));
    let create = |path| Stdio::from(File::create(path).expect("a file for output"));
    command.stdin(Stdio::null()).stdout(create(&out)).stderr(create(&err)).process_group(0);
    let mut child = command
        .spawn()
        .unwrap_or_else(|e| panic!("{:?} does not start: {e}", command.get_program()));
    let ended = wait(&mut child, limit);
    let read = |path| {
        let mut text = Vec::new();
        File::open(path).and_then(|mut f| f.read_to_end(&mut text)).expect("what it printed");
        text
    };
    let (stdout, stderr) = (read(&out), read(&err));
    drop(folder);
    let Some(status) = ended else {
        panic!(
            "{command:?} hangs: killed after {limit:?}\n{}\n{}",
            String::from_utf8_lossy(&stdout),
            String::from_utf8_lossy(&stderr)
        );
    };
    Outcome { stdout, stderr, status }
}

/// Waits for the child, and returns the exit status as a shell reports it. Returns `None` if the
/// time was up and the group was killed.
fn wait(child: &mut Child, limit: Duration) -> Option<i32> {
    let group = Pid::from_raw(child.id() as i32);
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().expect("its status") {
            return Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
        }
        if Instant::now() > deadline {
            let _ = killpg(group, Signal::SIGKILL);
            let _ = child.wait();
            return None;
        }
        thread::sleep(POLL);
    }
}

/// Whether tests that need root can run.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}
