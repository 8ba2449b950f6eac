//! The surroundings of a run: a new working directory, always of the same path, with links to the
//! files beside the program that are no tests; no arguments; an empty standard input; files for the
//! output.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use syncline_conformance::scratch;

use crate::find::TestProgram;
use crate::supervise::{self, End};
use crate::ways::Way;

/// The time limit of a native run. A program that takes longer is listed as unstable.
const NATIVE_LIMIT: Duration = Duration::from_secs(120);
/// The time limit under Syncline, in multiples of the program's native time.
const SLOWER: u32 = 10;
/// The bytes of output that are compared; the rest is ignored.
const COMPARED: u64 = 1 << 20;

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// The lines of standard output, sorted: threads may print in any order.
    pub output: Vec<String>,
    /// The last line that the program printed on standard output or, if there is none, on standard
    /// error. Syncline's own lines don't count.
    pub last_line: String,
    /// How long it took.
    pub took: Duration,
}

/// A folder in which programs run, one at a time.
#[derive(Debug)]
pub struct Laboratory {
    folder: tempfile::TempDir,
    least_limit: Duration,
}

impl Laboratory {
    /// A new laboratory. No run under Syncline is ended before `least_limit`.
    pub fn new(least_limit: Duration) -> Laboratory {
        Laboratory { folder: scratch(), least_limit }
    }

    /// Runs the program in a way or, if there is none, natively. The duration beside the way is the
    /// time that the program took natively.
    ///
    /// # Panics
    /// If the system refuses a file or a process.
    pub fn run(&self, program: &TestProgram, way: Option<(&Way, Duration)>) -> Outcome {
        let folder = self.folder.path();
        let (work, output) = (folder.join("work"), folder.join("output"));
        for old in [&work, &output, &folder.join("output.old")] {
            // Usually it does not exist.
            let _ = fs::remove_dir_all(old);
        }
        fs::create_dir(&work).expect("a new folder");
        for file in &*program.beside {
            symlink(file, work.join(file.file_name().expect("a name"))).expect("a link");
        }
        let limit = match way {
            Some((_, native)) => self.least_limit.max(native * SLOWER),
            None => NATIVE_LIMIT,
        };
        let mut command = Command::new(std::env::current_exe().expect("its own path"));
        command.arg("--supervise").arg(limit.as_secs_f64().to_string()).arg("--");
        if let Some((way, _)) = way {
            command.arg(syncline()).args(way.words(&output));
        }
        // In a process group of its own, so that Ctrl-C reaches only this process. The supervisor
        // then sees that this process is gone.
        command.arg(&program.path).current_dir(&work).env("TMPDIR", &work).process_group(0);
        let supervisor = command.output().expect("it starts");
        let said = String::from_utf8_lossy(&supervisor.stdout);
        let (end, took) = supervise::read(&said)
            .unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&supervisor.stderr)));
        let printed = ["stdout", "stderr"].map(|name| beginning(&folder.join(name)));
        let last_line = printed.iter().find_map(|text| last_line(text)).unwrap_or_default();
        let text = String::from_utf8_lossy(&printed[0]);
        let mut output: Vec<String> = text.lines().map(str::to_owned).collect();
        output.sort();
        Outcome { end, output, last_line, took }
    }
}

/// The command `syncline` in this program's folder.
fn syncline() -> PathBuf {
    std::env::current_exe().expect("its own path").with_file_name("syncline")
}

fn beginning(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(COMPARED).read_to_end(&mut text));
    read.expect("what it printed");
    text
}

fn last_line(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let is_its_own = |line: &&str| !line.trim().is_empty() && !line.starts_with("syncline: ");
    text.lines().rev().find(is_its_own).map(str::to_owned)
}
