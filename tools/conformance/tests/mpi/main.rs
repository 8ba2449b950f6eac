//! `syncline mpi` on real MPI libraries: programs that lock windows have the same results under
//! every scheme, and misuse of a window's lock is an error.
//!
//! The scenes are in `programs/mpi_scenes.c`. On a small machine, ranks outnumber processors. The
//! tests use Debian's Open MPI and MPICH, and newer ones if `./x setup --mpi` has fetched them. A
//! library that is not installed is skipped with a message.

mod deaths;
mod extremes;
mod fortran;
mod hosts;
mod libraries;
mod memory;

use std::process::Command;

use syncline_conformance::{Program, mpi_library, run_limited, syncline};

use libraries::{LIMIT, Mpi, OPEN_MPI, SCHEMES, errors, everywhere, on_each, printed};

#[test]
fn sums_are_exact() {
    everywhere(4, &["sum", "25"], "allocate: 0 too few\n");
}

#[test]
fn windows_of_all_kinds_are_locked() {
    let expected = "create: 0 too few\nallocate_shared: 0 too few\ncreate_dynamic: 0 too few\n";
    on_each(|mpi| {
        // Open MPI's windows over messages can't be shared memory, so its default windows are
        // tested instead.
        let mpi = if mpi.is_by_messages() { &OPEN_MPI } else { mpi };
        for scheme in SCHEMES {
            let printed = mpi.scene(scheme, 2, &["kinds", "12"]);
            assert_eq!(printed, expected, "under {scheme} on {}", mpi.name);
        }
    });
}

#[test]
fn readers_are_inside_together() {
    everywhere(3, &["together"], "together\n");
}

#[test]
fn readers_and_a_writer_keep_apart() {
    everywhere(3, &["apart", "30", "apart_all", "30"], "apart\napart\n");
}

#[test]
fn a_waiter_drives_the_progress_that_the_holder_needs() {
    everywhere(2, &["progress"], "progress\n");
}

#[test]
fn other_epochs_and_requests_work_between_locks() {
    everywhere(3, &["others"], "2 1 1 4\n");
}

#[test]
fn windows_of_several_communicators_live_side_by_side() {
    everywhere(4, &["many", "12"], "many: 0 too few\n");
}

#[test]
fn threads_of_a_rank_hold_locks_of_several_targets() {
    on_each(|mpi| {
        if mpi.is_by_messages() {
            eprintln!("skipped: Open MPI's windows over messages refuse MPI_THREAD_MULTIPLE");
            return;
        }
        for scheme in SCHEMES {
            let printed = mpi.scene(scheme, 3, &["threads", "15"]);
            assert_eq!(printed, "threads: 0 too few\n", "under {scheme} on {}", mpi.name);
        }
    });
}

#[test]
fn an_unmodified_program_prints_the_same() {
    on_each(|mpi| {
        let mut plain = Command::new("env");
        mpi.start(&mut plain, "mpi_table.c", 3, &[]);
        let plain = printed(&mut plain);
        assert!(plain.starts_with("24 entries"), "{plain}");
        for scheme in SCHEMES {
            let mut command = mpi.command(&["--scheme", scheme], "mpi_table.c", 3, &[]);
            assert_eq!(printed(&mut command), plain, "under {scheme} on {}", mpi.name);
        }
    });
}

#[test]
fn misuse_is_an_error_of_the_window() {
    let expected = "\
MPI_Win_unlock(0, win): RMA_SYNC
MPI_Win_unlock_all(win): RMA_SYNC
MPI_Win_flush(0, win): RMA_SYNC
MPI_Win_flush_all(win): RMA_SYNC
MPI_Win_lock(MPI_LOCK_SHARED, ranks, 0, win): RANK
MPI_Win_lock(MPI_LOCK_SHARED, -77, 0, win): RANK
MPI_Win_lock(4711, 0, 0, win): LOCKTYPE
MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win): none
MPI_Win_unlock(MPI_PROC_NULL, win): none
MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win): none
MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win): RMA_SYNC
MPI_Win_lock_all(0, win): RMA_SYNC
MPI_Win_fence(0, win): RMA_SYNC
MPI_Put(&cell, 1, MPI_LONG, (rank + 1) % ranks, 0, 1, MPI_LONG, win): RMA_SYNC
MPI_Win_flush((rank + 1) % ranks, win): RMA_SYNC
MPI_Win_unlock(rank, win): none
MPI_Win_unlock(rank, win): RMA_SYNC
MPI_Win_lock_all(0, win): none
MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win): RMA_SYNC
MPI_Win_unlock_all(win): none
MPI_Win_unlock_all(win): RMA_SYNC
handled: 15
";
    on_each(|mpi| {
        for scheme in SCHEMES.into_iter().filter(|scheme| *scheme != "library") {
            assert_eq!(mpi.scene(scheme, 2, &["errors"]), expected, "{scheme} on {}", mpi.name);
        }
    });
}

/// Runs the scene `key`, in which each of three ranks names a scheme for a window with an `info`
/// key. `keys` has the three schemes, with `-` for no key. A window without a key has the scheme
/// `default`. Returns what the scene prints, and the library's messages.
fn keyed(mpi: &Mpi, default: &str, keys: &str) -> (String, String) {
    let mut command = mpi.command(&["--scheme", default], "mpi_scenes.c", 3, &["key", "6"]);
    let outcome = run_limited(command.env("KEYS", keys), LIMIT);
    assert_eq!(outcome.status, 0, "{}", errors(&outcome));
    let said = errors(&outcome);
    let ours = said.lines().filter(|line| line.starts_with("syncline: "));
    (String::from_utf8_lossy(&outcome.stdout).into_owned(), ours.collect::<Vec<_>>().join("\n"))
}

#[test]
fn an_info_key_chooses_a_windows_scheme() {
    on_each(|mpi| {
        for (default, keys, used) in [
            ("library", "fair fair fair", "fair"),
            ("full-support", "library library library", "library"),
            ("writer-precedence", "- - -", "writer-precedence"),
            ("library", "- - -", "library"),
            // A rank that gives no key gets the default.
            ("fair", "fair - fair", "fair"),
        ] {
            let (printed, said) = keyed(mpi, default, keys);
            let mapped = used != "library" && !mpi.is_by_messages();
            // A hint that would change an existing window is ignored. A wrong hint is an error in
            // the ranks that give it.
            let expected = format!(
                "0: none\n{used}\nbest-effort: none none none {used}\nfalse: none none none {mapped}\n\
                 no: none none INFO_VALUE {mapped}\n\
                 no-such-scheme: none INFO_VALUE INFO_VALUE {used}\nkey: 0 too few\n"
            );
            assert_eq!(printed, expected, "{keys} on {}", mpi.name);
            let starts = [
                "syncline: MPI_Win_set_info: passive_sync_mode is `no-such-scheme`, which is not one of ",
                "syncline: MPI_Win_set_info: syncline_host_memory is `no`, which is neither true nor ",
            ];
            for (start, times) in starts.into_iter().zip([2, 1]) {
                let lines = said.lines().filter(|line| line.starts_with(start)).count();
                assert_eq!(lines, times, "{said}");
            }
            assert_eq!(said.lines().count(), 3, "{said}");
        }
    });
}

#[test]
fn ranks_with_different_keys_are_named() {
    on_each(|mpi| {
        for (keys, first, other, value) in [
            ("fair fair best-effort", "fair", 2, "best-effort"),
            ("fair - fair", "fair", 1, "library"),
            ("quick quick quick", "quick", 2, "quick"),
        ] {
            let (printed, said) = keyed(mpi, "library", keys);
            assert_eq!(printed, "0: INFO_VALUE\n1: INFO_VALUE\n2: INFO_VALUE\n");
            let start = format!(
                "syncline: passive_sync_mode is `{first}` at rank 0 and `{value}` at rank {other}: "
            );
            assert!(said.starts_with(&start) && said.lines().count() == 1, "{said}");
        }
    });
}

#[test]
fn an_unknown_mpi_library_is_passed_through() {
    let flags = ["-DLIBRARY", "-shared", "-fPIC"];
    let library = Program::compile_with("mpi_unknown.c", &flags);
    let folder = syncline_conformance::scratch();
    let file = folder.path().join("libmpi.so.7");
    std::fs::copy(library.path(), &file).expect("a library");
    let place = format!("-L{}", folder.path().display());
    let program = Program::compile_with("mpi_unknown.c", &[&place, "-l:libmpi.so.7"]);
    mpi_library();
    let mut command = Command::new(syncline());
    command.args(["mpi", "--scheme", "fair", "--"]).arg(program.path());
    command.env("LD_LIBRARY_PATH", folder.path());
    let outcome = run_limited(&mut command, LIMIT);
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), "1008 124 5673 1\n");
    let said = errors(&outcome);
    assert!(
        said.contains("libmpi.so.7 is none of the known") && said.lines().count() == 1,
        "{said}"
    );
}

#[test]
fn command_errors_have_messages() {
    let run = |words: &[&str]| {
        let outcome = run_limited(Command::new(syncline()).arg("mpi").args(words), LIMIT);
        (outcome.status, errors(&outcome))
    };
    let (status, said) = run(&["--scheme", "quick", "--", "true"]);
    assert!(status == 2 && said.contains("writer-precedence"), "{status}: {said}");
    let (status, said) = run(&["--", "no-such-mpirun", "-n", "4", "./app"]);
    assert!(status == 127 && said.contains("no-such-mpirun"), "{status}: {said}");
    assert_eq!(run(&["--scheme", "fair", "--", "sh", "-c", "exit 7"]).0, 7);
    assert_eq!(run(&[]).0, 2);
}
