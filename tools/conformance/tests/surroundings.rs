//! Recording programs that open and close libraries, and programs with limited resources. If
//! Syncline can't record, it does not disturb the program.

use std::fs;
use std::process::Command;
use std::time::Duration;

use syncline_conformance::{Both, Case, Program, Recording, Truth, run_limited, scratch, syncline};
use syncline_recording::Op;

fn opens(flags: &[&str], mode: &str, rounds: u32) -> Both {
    let library = Program::compile_with("plugin.c", &[&["-shared", "-fPIC"], flags].concat());
    let case = Case::new(&Program::compile("opens.c")).arg(library.path()).arg(mode);
    case.arg(rounds.to_string()).exact()
}

#[test]
fn a_library_that_is_opened_and_closed() {
    let both = opens(&[], "local", 30);
    let own = both.truth.value("rounds");
    // The program makes one acquisition in each round. The library makes 300, and 100 more each
    // time that it is closed.
    assert_eq!(both.recording.calls(Op::MutexLock), own + 300 * own + 100 * (own - 1));
}

/// A library that is opened with `RTLD_DEEPBIND` finds the C library's functions before the
/// recorder's. Its locks are not recorded, but work.
#[test]
fn a_library_opened_with_deepbind() {
    let both = opens(&[], "deepbind", 3);
    assert_eq!(both.recording.calls(Op::MutexLock), both.truth.value("rounds"));
}

#[test]
fn libgomp_that_only_an_opened_library_uses() {
    let both = opens(&["-fopenmp"], "local", 1);
    assert_eq!(both.recording.calls(Op::OmpCritical), both.truth.value("criticals"));
}

/// Runs `limits WHAT` under a shell that sets limits first, with and without recording. Both must
/// behave alike; the amount that is recorded depends on the limits.
#[track_caller]
fn under(limits: &str, what: &str) {
    let program = Program::compile("limits.c");
    let script = format!("{limits} exec {} {what}", program.path().display());
    let case = Case::new(&Program::installed("/bin/sh")).arg("-c").arg(script);
    let plain = case.plain();
    let folder = scratch();
    let recorded = case.recorded_to(folder.path());
    assert_eq!(plain.behaviour(), recorded.behaviour());
}

#[test]
fn little_address_space_from_the_start() {
    under("ulimit -v 100000;", "work");
}

#[test]
fn little_address_space_later() {
    under("", "memory");
}

#[test]
fn small_files_from_the_start() {
    under("ulimit -f 8;", "work");
}

#[test]
fn small_files_later() {
    under("", "file-size");
}

#[test]
fn few_files_from_the_start() {
    under("ulimit -n 4;", "work");
}

#[test]
fn no_files_later() {
    under("ulimit -n 64;", "files");
}

/// The recording's folder is removed before the program starts.
#[test]
fn a_removed_recording_folder() {
    let program = Program::compile("limits.c");
    let script = format!("rm -rf \"$SYNCLINE_RECORDING\"; exec {} work", program.path().display());
    let case = Case::new(&Program::installed("/bin/sh")).arg("-c").arg(script);
    let folder = scratch();
    let plain = case.plain();
    assert_eq!(plain.behaviour(), case.recorded_to(folder.path()).behaviour());
}

/// Valgrind unmaps the vDSO, although the kernel has passed its address to the program.
#[test]
fn a_program_under_valgrind() {
    let program = Program::compile("mutex_kinds.c");
    let valgrind = Program::installed("/usr/bin/valgrind");
    let tool = ["-q", "--tool=none", "--trace-children=yes"];
    Case::new(&valgrind).args(tool).arg(program.path()).exact();
}

#[test]
fn a_largest_size_that_is_too_small() {
    let case = Case::new(&Program::compile("many.c")).arg("made").option("--max-size=16M");
    let both = case.both();
    let header = &both.recording.only().header;
    assert!(header.dropped_operations > 0);
    let counted = both.recording.calls(Op::MutexInit);
    assert!(counted > 0);
    assert_eq!(counted + header.dropped_operations, 640_000, "counted, or counted as dropped");
}

/// Mounts a small file system in a mount namespace of its own, records to it, fills it after the
/// recording has begun, and copies the recording out.
#[test]
fn a_full_disk() {
    let folder = scratch();
    let program = Program::compile("many.c");
    let script = r#"set -e
        mount -t tmpfs -o size=20m none "$1/small"
        "$2" record -o "$1/small/recording" -- \
            sh -c 'head -c 20200K /dev/zero > "$1"; exec "$2" distinct' sh "$1/small/filler" "$3" \
            || echo "@record $?" >&2
        cp -r --sparse=always "$1/small/recording" "$1/recording""#;
    fs::create_dir(folder.path().join("small")).expect("a folder");
    let in_own_namespace = |script| {
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script, "sh"]).arg(folder.path());
        command.arg(syncline()).arg(program.path());
        run_limited(&mut command, Duration::from_secs(30))
    };
    if in_own_namespace(r#"mount -t tmpfs none "$1/small""#).status != 0 {
        eprintln!("skipped: mounting a file system is not permitted here");
        return;
    }
    let outcome = in_own_namespace(script);
    outcome.assert_status(0);
    let errors = String::from_utf8_lossy(&outcome.stderr);
    assert!(
        errors.contains("incomplete: the disk was full; the program ended with status 0"),
        "{errors}"
    );
    assert!(errors.contains("@record 125"), "{errors}");
    assert_eq!(outcome.behaviour(), Case::new(&program).arg("distinct").plain().behaviour());
    let total = *Truth::read(&outcome.stdout).facts.last().expect("the sum over all locks");
    let recording = Recording::open(folder);
    let process = recording.processes.iter().find(|p| p.header.pid == total.pid).expect("its file");
    assert_eq!(process.header.disk_full, 1);
    let counted = recording.calls(Op::MutexLock);
    assert!(counted > 0, "what fitted is there");
    let dropped = process.header.dropped_operations;
    assert_eq!(counted + dropped, total.count, "counted, or counted as dropped");
}

/// The disk is full before a process can begin its file, and it is still full when the session is
/// written at the end.
#[test]
fn a_disk_without_any_room() {
    let folder = scratch();
    let leaf = Program::compile("spawns.c");
    let script = r#"mount -t tmpfs -o size=20m none "$1" || exit 77
        "$2" record -o "$1/recording" -- \
            sh -c 'cat /dev/zero > "$1" 2>&-; "$2" leaf 5; exit 3' sh "$1/filler" "$3"
        status=$?
        "$2" report "$1/recording"
        exit $status"#;
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, "sh"]).arg(folder.path());
    let outcome = run_limited(
        command.arg(syncline()).arg(leaf.path()).arg(folder.path()),
        Duration::from_secs(30),
    );
    let errors = String::from_utf8_lossy(&outcome.stderr);
    if outcome.status == 77 || errors.contains("unshare") {
        eprintln!("skipped: mounting a file system is not permitted here");
        return;
    }
    outcome.assert_status(125);
    assert!(errors.contains("the disk was full; the program ended with status 3"), "{errors}");
    assert!(errors.contains("the disk had no room when its process began"), "{errors}");
}
