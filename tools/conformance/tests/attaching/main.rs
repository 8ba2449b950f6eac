//! Tests of `syncline record -p PID`: the operations of a running process are counted exactly while
//! it is recorded. Afterwards the process is as before. If the command is killed, the next command
//! restores the process.
//!
//! `SYNCLINE_ATTACH_TIMES` is the number of repetitions: 100 for a thorough run.

mod borrowed;
mod changing;
mod elsewhere;
mod memory;
mod orphaned;
mod refused;
mod servers;
mod windows;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use syncline_conformance::{Program, preload_library, scratch, syncline};
use syncline_recording::layout::{FOUND, PROCESS_LEFT};
use syncline_recording::{Op, ProcessFile, process_files};

/// The number of acquisitions in one round, by the program's own count.
const ROUND: u64 = 40_000;

/// The number of repetitions: `SYNCLINE_ATTACH_TIMES`, or `short` if that is not set.
fn times(short: usize) -> usize {
    let asked = std::env::var("SYNCLINE_ATTACH_TIMES").ok();
    asked.map_or(short, |times| times.parse().expect("SYNCLINE_ATTACH_TIMES is a number"))
}

/// The program `attached.c`, running. It is linked so that all its tables of the C library's
/// addresses are in read-only pages.
struct Running {
    child: Child,
    /// The program's process number. It differs from the child's if the child is a command that
    /// starts the program in another namespace.
    pid: u32,
    output: BufReader<ChildStdout>,
    program: Program,
    lock: u64,
    rounds: u64,
}

impl Running {
    fn start() -> Running {
        Running::start_by(|program| Command::new(program))
    }

    /// Starts the program with the command that `command` returns for the program's path.
    fn start_by(command: impl FnOnce(&Path) -> Command) -> Running {
        let program = Program::compile_with("attached.c", &["-Wl,-z,relro,-z,now"]);
        let mut command = command(program.path());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let pid = child.id();
        let mut running = Running { child, pid, output, program, lock: 0, rounds: 0 };
        let address = running.line();
        running.lock = u64::from_str_radix(address.trim_start_matches("0x"), 16).expect("hex");
        running
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        line.trim().to_owned()
    }

    /// Runs one more round, and checks the program's own count.
    fn round(&mut self) {
        self.child.stdin.as_mut().expect("a pipe").write_all(b"go\n").expect("it reads");
        self.rounds += 1;
        assert_eq!(self.line(), (self.rounds * ROUND).to_string());
    }

    /// The lines of `/proc/PID/maps` for the program's own file, and the contents of those mappings
    /// that are read-only.
    fn tables(&self) -> (Vec<String>, Vec<u8>) {
        let pid = self.pid;
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("its maps");
        let path = self.program.path().canonicalize().expect("a path");
        let own = maps.lines().filter(|line| line.ends_with(path.to_str().expect("UTF-8")));
        let lines: Vec<String> = own.map(str::to_owned).collect();
        let memory = File::open(format!("/proc/{pid}/mem")).expect("its memory");
        let mut bytes = Vec::new();
        for line in lines.iter().filter(|line| line.contains(" r--p ")) {
            let (from, to) = line.split(' ').next().unwrap().split_once('-').expect("a range");
            let [from, to] = [from, to].map(|n| u64::from_str_radix(n, 16).expect("hex"));
            let mut part = vec![0; (to - from) as usize];
            memory.read_exact_at(&mut part, from).expect("it is mapped");
            bytes.extend(part);
        }
        assert!(!bytes.is_empty());
        (lines, bytes)
    }

    /// Starts `syncline record -p`, and returns when it has attached.
    fn attach(&self, folder: &Path) -> Recording {
        self.attach_with(folder, &[])
    }

    /// Like [`Running::attach`], with more arguments.
    fn attach_with(&self, folder: &Path, arguments: &[&str]) -> Recording {
        attach(self.pid, folder, arguments)
    }
}

/// Starts `syncline record -p` for this process, and returns when it has attached.
fn attach(pid: u32, folder: &Path, arguments: &[&str]) -> Recording {
    let said = folder.with_extension("said");
    let child = record(pid, folder)
        .args(arguments)
        .stderr(File::create(&said).expect("a file"))
        .spawn()
        .expect("it starts");
    let until = Instant::now() + Duration::from_secs(60);
    while !fs::read_to_string(&said).unwrap().contains("attached to process") {
        assert!(Instant::now() < until, "{}", fs::read_to_string(&said).unwrap());
        sleep(Duration::from_millis(5));
    }
    Recording { child }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// A running `syncline record -p`.
struct Recording {
    child: Child,
}

impl Recording {
    /// Asks the command to end, as Control-C does.
    fn end(mut self) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &pid]).status().expect("kill");
        assert!(sent.success());
        assert_eq!(self.child.wait().expect("it ends").code(), Some(0));
    }
}

fn record(pid: u32, folder: &Path) -> Command {
    let mut command = Command::new(syncline());
    command.args(["record", "-o"]).arg(folder).args(["-p", &pid.to_string()]);
    command.env("SYNCLINE_PRELOAD", preload_library());
    command
}

/// The number of acquisitions of a lock in the recording of a single process that still runs.
fn counted(folder: &Path, lock: u64) -> u64 {
    let files = process_files(folder).expect("a recording");
    assert_eq!(files.len(), 1);
    let process = ProcessFile::open(&files[0]).expect("it is whole");
    assert_eq!((process.header.state, process.header.attached), (PROCESS_LEFT, 1));
    let rows = process.threads.iter().flat_map(|thread| &thread.rows);
    let of_lock =
        |row: &&syncline_recording::Row| row.op == Op::MutexLock && row.counts.lock == lock;
    rows.filter(of_lock).map(|row| row.counts.calls).sum()
}

#[test]
fn rounds_are_counted_while_attached_and_tables_are_restored() {
    let folder = scratch();
    let mut running = Running::start();
    running.round();
    let before = running.tables();
    for time in 0..3 {
        let recording = folder.path().join(time.to_string());
        let command = running.attach(&recording);
        assert_ne!(running.tables().1, before.1, "the calls lead elsewhere meanwhile");
        for _ in 0..=time {
            running.round();
        }
        command.end();
        assert!(running.tables() == before, "tables and their rights are as before");
        running.round();
        assert_eq!(counted(&recording, running.lock), (time + 1) * ROUND);
    }
}

/// The processor time that each thread of a process has used so far, in nanoseconds, by the
/// scheduler's count. The keys are thread numbers.
fn used(pid: u32) -> HashMap<u32, i64> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs").map(Result::unwrap);
    let of = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path().join("schedstat")).expect("it runs");
        let tid = entry.file_name().to_str().unwrap().parse().unwrap();
        (tid, text.split(' ').next().unwrap().parse().expect("a number"))
    };
    entries.map(of).collect()
}

#[test]
fn earlier_processor_time_is_not_in_the_recording() {
    /// A scheduler's tick, in nanoseconds. The scheduler updates the count of a running thread at
    /// least once a tick.
    const TICK: i64 = 10_000_000;
    let folder = scratch();
    let mut running = Running::start();
    let total = |pid| used(pid).values().sum::<i64>();
    while total(running.pid) < 80 * TICK {
        running.round();
    }
    let before = used(running.pid);
    let recording = folder.path().join("recording");
    let command = running.attach(&recording);
    running.round();
    let first = used(running.pid);
    while total(running.pid) < first.values().sum::<i64>() + 20 * TICK {
        running.round();
    }
    let last = used(running.pid);
    command.end();
    let after = used(running.pid);
    let process = ProcessFile::open(&process_files(&recording).expect("a recording")[0]);
    let threads = process.expect("it is whole").threads;
    assert!(threads.len() >= 4);
    for thread in threads {
        let (record, tid) = (thread.record, thread.record.tid);
        let said = record.cpu_ns + record.left_cpu_ns as i64;
        let bounds = last[&tid] - first[&tid] - TICK..=after[&tid] - before[&tid] + TICK;
        assert!(bounds.contains(&said), "thread {tid}: {said} ns, not {bounds:?}");
        assert_eq!(record.creator, FOUND);
    }
    let report = Command::new(syncline()).arg("report").arg(&recording).output().expect("it runs");
    let report = String::from_utf8(report.stdout).expect("text");
    assert!(!report.contains("not known"), "{report}");
}

#[test]
fn a_command_that_is_killed_is_mended_by_the_next() {
    let folder = scratch();
    let mut running = Running::start();
    let before = running.tables();
    let kill = |mut child: Child| {
        child.kill().and_then(|()| child.wait().map(drop)).expect("it is killed");
    };
    kill(running.attach(&folder.path().join("killed")).child);
    running.round();
    // The command is killed while it attaches, at moments that are closer together at the
    // beginning.
    let moments = times(12);
    for n in 0..moments {
        let mut command = record(running.pid, &folder.path().join(format!("attaching-{n}")));
        let child = command.stderr(Stdio::null()).spawn().expect("it starts");
        sleep(Duration::from_micros((60_000 * n * n / moments / moments) as u64));
        kill(child);
        running.round();
    }
    // The command is killed while it detaches.
    for n in 0..moments.div_ceil(2) {
        let command = running.attach(&folder.path().join(format!("detaching-{n}")));
        let pid = command.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
        sleep(Duration::from_micros(30_000 * n as u64 / moments as u64));
        kill(command.child);
        running.round();
    }
    let recording = folder.path().join("mended");
    let command = running.attach(&recording);
    running.round();
    command.end();
    assert!(running.tables() == before);
    assert_eq!(counted(&recording, running.lock), ROUND);
    assert!(!stopped(running.pid), "no thread is left stopped");
}

/// Whether any thread of a process is stopped or traced.
fn stopped(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("its threads");
    threads.map(|thread| thread.expect("a thread").path().join("status")).any(|status| {
        let status = fs::read_to_string(status).unwrap_or_default();
        status.contains("State:\tt") || status.contains("State:\tT")
    })
}
