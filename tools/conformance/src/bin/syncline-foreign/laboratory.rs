//! The surroundings of a run. The working directory is new, has the same path in all runs of a
//! program, and has links to the files in the program's folder that are not test programs. There
//! are no arguments, standard input is empty, and the output goes to files.

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

/// The time limit of a run without Syncline. A program that takes longer is listed as unstable.
const NATIVE_LIMIT: Duration = Duration::from_secs(120);
/// The time limit of a run under Syncline, as a multiple of the time that the program takes without
/// it.
const SLOWER: u32 = 10;
/// The number of bytes of output that are compared. Further output is ignored.
const COMPARED: u64 = 1 << 20;

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The end of the run.
    pub end: End,
    /// The lines of standard output. They are sorted, since threads may print in any order.
    pub output: Vec<String>,
    /// The last line that the program printed on standard output or, if there is none, on standard
    /// error. Lines that Syncline printed are ignored.
    pub last_line: String,
    /// The duration of the run.
    pub took: Duration,
}

/// A folder in which programs are run, one at a time.
#[derive(Debug)]
pub struct Laboratory {
    folder: tempfile::TempDir,
    least_limit: Duration,
}

impl Laboratory {
    /// Makes a new folder for runs. No run under Syncline is ended before `least_limit`.
    pub fn new(least_limit: Duration) -> Laboratory {
        Laboratory { folder: scratch(), least_limit }
    }

    /// Runs the program in this way, or without Syncline if `way` is `None`. The duration that
    /// comes with the way is the time that the program took without Syncline; it sets the time
    /// limit.
    ///
    /// # Panics
    /// If the system can't make a file or start a process.
    pub fn run(&self, program: &TestProgram, way: Option<(&Way, Duration)>) -> Outcome {
        let folder = self.folder.path();
        let (work, output) = (folder.join("work"), folder.join("output"));
        for old in [&work, &output, &folder.join("output.old")] {
            // An error is ignored: usually the folder does not exist.
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
        // The supervisor has its own process group, so Ctrl-C reaches only this process. The
        // supervisor then notices that this process has ended.
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

/// The path of the command `syncline`, which is in the folder of this program.
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
