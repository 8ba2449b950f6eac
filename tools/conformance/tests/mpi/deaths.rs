//! Tests that kill ranks while they hold the lock of a window or wait for it. The other ranks must
//! still be able to acquire the lock, one at a time. If a writer dies while it holds the lock, the
//! next rank that acquires it gets an error that says so. The death of a reader or of a waiting
//! rank is no error.
//!
//! The scenes are in `programs/mpi_deaths.c`. The tests in which a rank dies run only with Debian's
//! Open MPI, because the launchers of the other MPI libraries end all ranks when one dies. The code
//! that locks a window is the same for all libraries.

use std::fs;
use std::time::{Duration, Instant};

use syncline_conformance::{run_limited, scratch};

use crate::libraries::{LIMIT, Mpi, all, errors, on_each, side_by_side};

/// The schemes whose locks still work after a rank has died.
const SCHEMES: [&str; 6] = [
    "full-support",
    "best-effort",
    "writer-precedence",
    "reader-precedence",
    "fair",
    "hierarchical",
];

/// Runs a scene under a scheme, and returns the verdict that the program writes to a file. `after`
/// is the program's last argument. For the scene `anywhere` it is a number of microseconds; for
/// other scenes it is `reader` or an empty text.
fn outcome(mpi: &Mpi, scheme: &str, ranks: u32, scene: &str, after: &str) -> String {
    let folder = scratch();
    let file = folder.path().join("file");
    fs::write(&file, [0; 4096]).expect("a file");
    let words = [scene, file.to_str().expect("a name"), after];
    let mut command = mpi.command(&["--scheme", scheme], "mpi_deaths.c", ranks, &words);
    let outcome = run_limited(&mut command, LIMIT);
    let verdict = verdict(&file);
    eprintln!("{scheme}, {scene}, {after}: {}", errors(&outcome));
    verdict
}

/// Runs a scene under each of [`SCHEMES`], with Open MPI's default windows.
fn everywhere(ranks: u32, scene: &str, after: &str) {
    for mut mpi in all() {
        if mpi.name != "openmpi" {
            eprintln!(
                "skipped: {} is not Debian's Open MPI, whose starter lets the others go on",
                mpi.name
            );
            continue;
        }
        if mpi.is_by_messages() {
            eprintln!("skipped: windows over messages");
            continue;
        }
        mpi.more = &["--enable-recovery"];
        side_by_side(&SCHEMES, |scheme| {
            assert_eq!(outcome(&mpi, scheme, ranks, scene, after), scene, "{scheme}, {after}");
        });
    }
}

/// Waits for the text that the program writes at the beginning of the file, and returns it. The
/// text may come late, because the launcher may end before the program does. Returns an empty text
/// if none comes within [`LIMIT`].
pub fn verdict(file: &std::path::Path) -> String {
    let start = Instant::now();
    loop {
        let bytes = fs::read(file).expect("the file");
        let text: Vec<u8> = bytes.into_iter().take_while(|byte| *byte != 0).collect();
        if !text.is_empty() || start.elapsed() > LIMIT {
            return String::from_utf8_lossy(&text).into_owned();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_dead_holders_lock_is_released_and_one_rank_is_notified() {
    everywhere(4, "holder", "");
}

#[test]
fn a_waiter_behind_a_dead_waiter_gets_the_lock() {
    everywhere(5, "middle", "");
    everywhere(5, "middle", "reader");
}

#[test]
fn dead_readers_locks_are_released_without_notice() {
    everywhere(3, "readers", "");
}

#[test]
fn owners_are_notified_until_one_confirms_consistency() {
    everywhere(3, "told", "");
}

#[test]
fn a_try_gets_a_dead_holders_lock() {
    everywhere(3, "tries", "");
}

#[test]
fn a_rank_may_die_anywhere() {
    for microseconds in [900, 7_300, 21_100, 44_700] {
        everywhere(4, "anywhere", &microseconds.to_string());
    }
}

#[test]
fn tries_and_deadlines() {
    on_each(|mpi| {
        for scheme in SCHEMES {
            assert_eq!(outcome(mpi, scheme, 3, "limits", ""), "limits", "{scheme}, {}", mpi.name);
        }
        for scheme in ["message-immediate", "library"] {
            let outcome = outcome(mpi, scheme, 3, "limits", "");
            assert_eq!(outcome, "unsupported", "{scheme}, {}", mpi.name);
        }
    });
}
