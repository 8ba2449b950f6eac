//! Large programs run ten times each in three ways: as they are, under `syncline record`, and with
//! other locks. A program must print the same each time, and leave no process behind. `./x matrix`
//! runs this test.
//!
//! Each program is started by a script in `programs/large`. Everything that the script starts, even
//! clients, runs in the same way. A process that outlives its parent becomes a child of the test,
//! so the test sees every process that is left.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};
use syncline_conformance::{Case, Outcome, Program, scratch};

const TIMES: usize = 10;
const THREADS: usize = 8;
const LIMIT: u64 = 300;
/// The time in which processes have to end by themselves. A process that ends because a socket was
/// closed takes a moment.
const TO_END: Duration = Duration::from_secs(10);

/// A script's name, a program that it needs, and the script.
const PROGRAMS: [(&str, &str, &str); 6] = [
    ("chromium", "/usr/bin/chromium", include_str!("../../programs/large/chromium.sh")),
    ("libreoffice", "/usr/bin/soffice", include_str!("../../programs/large/libreoffice.sh")),
    ("java", "/usr/bin/java", include_str!("../../programs/large/java.sh")),
    ("postgresql", "/usr/bin/pgbench", include_str!("../../programs/large/postgresql.sh")),
    ("redis", "/usr/bin/redis-server", include_str!("../../programs/large/redis.sh")),
    ("python", "/usr/bin/python3", include_str!("../../programs/large/python.sh")),
];

/// A way to run a program: its name, and the function that runs the program.
type Way = (&'static str, fn(&Case) -> Outcome);

const WAYS: [Way; 3] = [
    ("as it is", |case| case.plain()),
    ("record", |case| case.recorded().0),
    ("exec --lock gate", |case| case.replaced("gate")),
];

#[test]
#[ignore = "half an hour; ./x matrix runs it"]
fn large_programs_behave_alike_and_leave_nothing_behind() {
    set_child_subreaper(true).expect("a subreaper");
    let mut faults = Vec::new();
    for (name, needs, text) in PROGRAMS {
        assert!(Path::new(needs).exists(), "{needs} is missing: ./x matrix installs it");
        let mut expected = None;
        for number in 1..=TIMES {
            for (way, run) in WAYS {
                let started = Instant::now();
                let said = in_a_folder(text, run);
                let left = left_behind();
                let same = *expected.get_or_insert_with(|| said.clone()) == said;
                let fault = if !left.is_empty() {
                    format!("left behind: {}", left.join(", "))
                } else if !same {
                    format!("DIFFERS: {said}")
                } else {
                    "the same".to_owned()
                };
                let seconds = started.elapsed().as_secs_f64();
                let line = format!("{name}, {way}, {number} of {TIMES}, {seconds:.1} s: {fault}");
                // Standard error may be closed; the test asserts the outcome.
                let _ = writeln!(std::io::stderr(), "{line}");
                faults.extend((fault != "the same").then_some(line));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn in_a_folder(text: &str, run: fn(&Case) -> Outcome) -> String {
    let folder = scratch();
    let case = Case::new(&Program::installed("/bin/sh")).args(["-ec", text, "sh"]);
    let case = case.arg(folder.path()).arg(THREADS.to_string()).limit(LIMIT);
    run(&case).behaviour()
}

/// Waits for processes that are ending, and kills those that still run after [`TO_END`]. Returns
/// the numbers and command lines of the killed processes.
fn left_behind() -> Vec<String> {
    let deadline = Instant::now() + TO_END;
    loop {
        while matches!(waitpid(None, Some(WaitPidFlag::WNOHANG)), Ok(status) if status != WaitStatus::StillAlive)
        {
        }
        let left = children();
        if left.is_empty() || Instant::now() > deadline {
            return left.into_iter().map(end).collect();
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The children of this process, including those that it adopted.
fn children() -> Vec<Pid> {
    let lists = fs::read_dir(format!("/proc/{}/task", getpid())).expect("its threads");
    let of_thread = |task: std::io::Result<fs::DirEntry>| {
        fs::read_to_string(task.ok()?.path().join("children")).ok()
    };
    let lists: Vec<String> = lists.filter_map(of_thread).collect();
    let words = lists.iter().flat_map(|list| list.split_whitespace());
    words.map(|word| Pid::from_raw(word.parse().expect("a number"))).collect()
}

/// Kills a process, and returns its number and its command line.
fn end(process: Pid) -> String {
    let arguments = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    // The process may have ended by itself.
    let _ = kill(process, Signal::SIGKILL);
    let _ = waitpid(process, None);
    format!("{process} {}", String::from_utf8_lossy(&arguments).replace('\0', " "))
}
