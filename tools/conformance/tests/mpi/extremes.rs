//! Extreme situations: a full `/dev/shm`, a job that is aborted, thousands of windows, and windows
//! whose `info` promises that they are never locked.

use std::process::Command;
use std::time::{Duration, Instant};

use syncline_conformance::run_limited;

use crate::libraries::{LIMIT, SCHEMES, all, errors, everywhere, on_each, printed};

/// Some schemes of each kind.
const SOME: [&str; 4] = ["full-support", "fair", "message-immediate", "library"];

#[test]
fn locks_of_two_thousand_windows_are_held_at_once() {
    // The libraries run one after another, since these runs keep the processors busy.
    for mpi in all() {
        for scheme in ["full-support", "fair"] {
            let printed = mpi.scene(scheme, 2, &["thousands"]);
            assert_eq!(printed, "thousands: 0 too few\n", "under {scheme} on {}", mpi.name);
        }
    }
}

#[test]
fn windows_without_locks_have_other_epochs() {
    everywhere(3, &["no_locks"], "no_locks\n");
}

#[test]
fn an_abort_ends_those_that_wait_for_a_lock() {
    on_each(|mpi| {
        for scheme in SOME {
            let start = Instant::now();
            let mut command = mpi.command(&["--scheme", scheme], "mpi_scenes.c", 3, &["aborting"]);
            let outcome = run_limited(&mut command, LIMIT);
            assert_eq!(outcome.status, 5, "{scheme}, {}: {}", mpi.name, errors(&outcome));
            assert!(start.elapsed() < Duration::from_secs(60), "{scheme}, {}", mpi.name);
        }
    });
}

#[test]
fn a_full_dev_shm_does_no_harm() {
    let apart =
        ["--mount", "sh", "-c", "mount -t tmpfs -o size=48m none /dev/shm && exec \"$@\"", "sh"];
    let tried = run_limited(Command::new("unshare").args(apart).arg("true"), LIMIT);
    if tried.status != 0 {
        eprintln!("skipped: this user may not make a /dev/shm of its own");
        return;
    }
    on_each(|mpi| {
        if mpi.name.starts_with("openmpi") {
            eprintln!("skipped: {} itself ends by a bus error, without Syncline as well", mpi.name);
            return;
        }
        for scheme in SCHEMES {
            let scene = mpi.command(&["--scheme", scheme], "mpi_scenes.c", 2, &["full", "12"]);
            let mut command = Command::new("unshare");
            command.args(apart).arg(scene.get_program()).args(scene.get_args());
            for (name, value) in scene.get_envs() {
                command.env(name, value.unwrap_or_default());
            }
            assert_eq!(printed(&mut command), "full: 0 too few\n", "{scheme} on {}", mpi.name);
        }
    });
}
