//! Forked children, most of which write to their parent's file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use syncline_analysis::model::State;
use syncline_conformance::{Case, Program, scratch};
use syncline_recording::folder::files;
use syncline_recording::{Class, Error, Op, ProcessFile, process_files};

const CHILDREN: usize = 2000;
/// The number of process images other than the small children: the first program, the special
/// children, the program that one of them executes, and the child of another.
const OTHERS: usize = 7;

fn family(children: usize) -> Case {
    Case::new(&Program::compile("family.c")).arg(children.to_string()).limit(120)
}

fn taken(process: &ProcessFile) -> u64 {
    let rows = process.threads.iter().flat_map(|thread| &thread.rows);
    rows.filter(|row| row.op == Op::MutexLock).map(|row| row.counts.calls).sum()
}

/// The recording agrees with what the program states about each of its special processes, and with
/// the sum that it states for the small ones.
#[test]
fn thousands_of_children_are_counted_exactly() {
    let both = family(CHILDREN).exact();
    let processes = &both.recording.processes;
    assert_eq!(processes.len(), CHILDREN + OTHERS);
    let odd = ["killed", "executed", "parent", "grown"].map(|name| both.truth.value(name) as u32);
    let main = processes[0].header.pid;
    let is_small = |process: &&ProcessFile| {
        let header = &process.header;
        header.parent == main && !odd.contains(&header.pid)
    };
    let small: Vec<u64> = processes.iter().filter(is_small).map(taken).collect();
    assert_eq!((small.len(), small.iter().sum()), (CHILDREN, both.truth.value("taken")));
    assert!(small.iter().all(|count| (1..=5).contains(count)));
    // There are two files: one for the first program and all forked children, and one for the
    // program that one of the children executes.
    assert_eq!(files(&both.recording.folder(), "syncline").expect("a folder").len(), 2);

    let options = syncline_analysis::Options::default();
    let folder = both.recording.folder();
    let analysis = syncline_analysis::Analysis::load(&folder, &options).expect("a recording");
    assert!(analysis.notes.is_empty(), "{:?}", analysis.notes);
    let states = |pid: u32| -> Vec<State> {
        analysis.processes.iter().filter(|p| p.pid == pid).map(|p| p.state).collect()
    };
    let [killed, executed, parent, grown] = odd;
    assert_eq!(states(killed), [State::Killed { signal: Signal::SIGKILL as i32 }]);
    let mut ends = states(executed);
    ends.sort_by_key(|state| *state == State::Executed);
    assert_eq!(ends, [State::Exited { status: Some(9) }, State::Executed]);
    for pid in [parent, grown] {
        assert_eq!(states(pid), [State::Exited { status: Some(0) }]);
    }
    let small = analysis.processes.iter().filter(|p| p.parent == main && !odd.contains(&p.pid));
    for process in small {
        assert!(matches!(process.state, State::Exited { status: Some(1..=5) }));
        let frames = process.sites.iter().filter_map(|site| site.frame);
        for frame in frames {
            let name = &process.frames[frame].function;
            assert!(["take_some", "main"].iter().any(|f| name.contains(f)), "{name}");
        }
    }
}

/// A parent that takes no lock has no file at first, so each child makes its own. Once several
/// children have done so, the parent gets a file, and later children write to that file.
#[test]
fn children_of_a_parent_that_counts_nothing() {
    let both = Case::new(&Program::compile("idle_parent.c")).arg("200").exact();
    let counted = both.recording.processes.iter().filter(|process| taken(process) > 0).count();
    assert_eq!(counted, 200);
    let files = files(&both.recording.folder(), "syncline").expect("a folder").len();
    assert!(files <= 12, "{files} files");
}

/// Reads all processes repeatedly, as `syncline top` does, and checks that counts never decrease.
/// Returns the number of readings, and the largest number of processes.
fn watch(recording: &Path, ended: &AtomicBool) -> (usize, usize) {
    let (mut looks, mut most) = (0, 0);
    let mut before: BTreeMap<PathBuf, u64> = BTreeMap::new();
    while !ended.load(Ordering::Relaxed) {
        let found = process_files(recording).unwrap_or_default();
        assert!(found.len() >= before.len(), "{} processes, then {}", before.len(), found.len());
        most = most.max(found.len());
        for path in found {
            match ProcessFile::open(&path) {
                Ok(process) => {
                    let acquired = process.threads.iter().flat_map(|thread| &thread.rows);
                    let acquired = acquired.filter(|row| row.op.class() == Class::Acquire);
                    let now = acquired.map(|row| row.counts.calls).sum();
                    let then = before.insert(path, now).unwrap_or(0);
                    assert!(now >= then, "{then} calls were counted, then {now}");
                }
                // A process is still creating this file.
                Err(Error::Foreign(_) | Error::NoRoom(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        looks += 1;
        thread::sleep(Duration::from_millis(1));
    }
    (looks, most)
}

#[test]
fn children_are_seen_while_they_run() {
    let (folder, ended) = (scratch(), AtomicBool::new(false));
    let (looks, most) = thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&folder.path().join("recording"), &ended));
        family(500).recorded_to(folder.path());
        ended.store(true, Ordering::Relaxed);
        watcher.join().expect("no failed read")
    });
    assert!(looks >= 3 && most > 1, "{looks} looks at up to {most} processes");
}

/// If everything is logged, or if there is little room, each child has a file of its own.
#[test]
fn children_that_need_room_have_their_own_files() {
    for options in [&["--timeline"][..], &["--max-size", "16M"]] {
        let case = options.iter().fold(family(20), |case, option| case.option(option));
        let both = case.exact();
        let files = files(&both.recording.folder(), "syncline").expect("a folder").len();
        assert_eq!((files, both.recording.processes.len()), (20 + OTHERS, 20 + OTHERS));
    }
}
