//! Programs of Debian's packages behave alike with and without Syncline.
//!
//! `./x setup` installs their packages. Servers listen on Unix sockets, or on an address of their
//! own if their clients can't connect to such sockets.

mod apache;
mod chromium;
mod mariadb;
mod media;
mod memcached;

use std::path::Path;
use std::thread;

use syncline_conformance::{Case, Outcome, Program, Recording, scratch};
use syncline_recording::Op;

/// A program that a package installs.
///
/// # Panics
/// If the program is not installed.
fn installed(path: &str, package: &str) -> Program {
    assert!(Path::new(path).exists(), "{path} of package {package} is missing: run ./x setup");
    Program::installed(path)
}

/// A case that runs a script with the folder as its first parameter.
fn script(text: &str, folder: &Path) -> Case {
    Case::new(&Program::installed("/bin/sh")).args(["-ec", text, "sh"]).arg(folder).limit(40)
}

/// Runs a server and its client at the same time, in a folder of their own. The client ends the
/// server.
fn serve<T: Send>(
    run: impl FnOnce(&Path) -> Outcome,
    client: impl FnOnce(&Path) -> T + Send,
) -> (Outcome, T) {
    let folder = scratch();
    thread::scope(|scope| {
        let answers = scope.spawn(|| client(folder.path()));
        let outcome = run(folder.path());
        (outcome, answers.join().expect("the client's answers"))
    })
}

/// Runs a server alone and, at the same time, another one recorded, each with a client of its own
/// that does the same. Checks that both clients get the same answers. Returns the recording.
fn serve_both<T: Send + PartialEq + std::fmt::Debug>(
    server: impl Fn(&Path) -> Case + Sync,
    client: impl Fn(&Path) -> T + Send + Sync,
) -> Recording {
    let kept = scratch();
    thread::scope(|scope| {
        let plain = scope.spawn(|| serve(|folder| server(folder).plain(), &client).1);
        let (_, recorded) = serve(|folder| server(folder).recorded_to(kept.path()), &client);
        assert_eq!(plain.join().expect("it has said why"), recorded);
    });
    Recording::open(kept)
}

/// Checks that the recording of a program that is known to lock has at least `at_least`
/// acquisitions.
#[track_caller]
fn assert_locks(recording: &Recording, executable: &str, at_least: u64) {
    let of_program = recording.processes.iter().filter(|p| p.executable().ends_with(executable));
    let rows = of_program.flat_map(|p| &p.threads).flat_map(|t| &t.rows);
    let locked: u64 = rows.filter(|r| r.op == Op::MutexLock).map(|r| r.counts.calls).sum();
    assert!(locked >= at_least, "{executable}: {locked} mutex acquisitions recorded");
}
