//! Windows whose memory Syncline shares between the ranks without the program's knowledge, so that
//! puts and gets are plain copies. Programs must have the same results as without sharing.
//!
//! The scenes are in `programs/mpi_memory.c`.

use std::process::Command;

use syncline_conformance::{Program, run_limited};

use crate::libraries::{LIMIT, Mpi, SCHEMES, all, errors, on_each, printed};

/// Runs a scene under each scheme on each library.
fn everywhere(ranks: u32, words: &[&str], expected: &str) {
    on_each(|mpi| {
        for scheme in SCHEMES {
            let printed = printed(&mut scene(mpi, scheme, ranks, words));
            assert_eq!(printed, expected, "{words:?} under {scheme} on {}", mpi.name);
        }
    });
}

fn scene(mpi: &Mpi, scheme: &str, ranks: u32, words: &[&str]) -> Command {
    mpi.command(&["--scheme", scheme], "mpi_memory.c", ranks, words)
}

#[test]
fn window_attributes_are_those_of_the_creation() {
    // With windows over messages, the scene could not create its second window, which must have
    // shared memory.
    for mpi in all().iter().filter(|mpi| !mpi.is_by_messages()) {
        for scheme in SCHEMES {
            if mpi.name != "openmpi" && scheme == "library" {
                let why = match mpi.name {
                    "mpich" => "reports another address than the one that it has allocated",
                    // Open MPI 5.0.11 and MPICH 5.0.2, with the sizes of this scene.
                    _ => "places parts of a window where no `long` may lie",
                };
                eprintln!("skipped: without Syncline's locks, {} {why}", mpi.name);
                continue;
            }
            let printed = printed(&mut scene(mpi, scheme, 3, &["attributes"]));
            assert_eq!(printed, "attributes\n", "under {scheme} on {}", mpi.name);
        }
    }
}

#[test]
fn elements_of_all_types_are_transferred() {
    everywhere(3, &["types"], "types\n");
}

#[test]
fn a_flush_completes_before_the_next_get() {
    // With windows over messages, puts and gets are not copies, so there is nothing to test.
    for mpi in all().iter().filter(|mpi| !mpi.is_by_messages()) {
        for scheme in ["full-support", "fair"] {
            let printed = printed(&mut scene(mpi, scheme, 2, &["flags", "50000"]));
            let expected = "flags: 0 times neither saw the other's\n";
            assert_eq!(printed, expected, "under {scheme} on {}", mpi.name);
        }
    }
}

#[test]
fn a_rank_that_only_copies_drives_progress() {
    everywhere(2, &["progress"], "progress\n");
}

#[test]
fn accumulates_are_atomic_beside_copies() {
    everywhere(3, &["atomic", "20"], "atomic: 0 too few\n");
}

#[test]
fn memory_is_shared_unless_a_rank_forbids_it() {
    on_each(|mpi| {
        for (scheme, keys, shared) in [
            ("full-support", "- - -", 9),
            ("fair", "true - true", 9),
            ("full-support", "- false -", 0),
            ("fair", "false false false", 0),
            ("library", "- - -", 0),
        ] {
            // Since MPI 4.1, the memory of MPICH's own windows can be queried as well.
            let shared = match mpi.name {
                _ if mpi.is_by_messages() => 0,
                "mpich 5" | "mpich 5, libmpi_abi" => 9,
                _ => shared,
            };
            let printed = printed(scene(mpi, scheme, 3, &["shared"]).env("KEYS", keys));
            assert_eq!(printed, format!("shared: {shared} of 9\n"), "{keys} on {}", mpi.name);
        }
    });
}

#[test]
fn an_invalid_memory_key_is_an_error_of_all_ranks() {
    on_each(|mpi| {
        let mut command = scene(mpi, "fair", 3, &["refused"]);
        let outcome = run_limited(command.env("KEYS", "true - yes"), LIMIT);
        let (printed, said) = (String::from_utf8_lossy(&outcome.stdout), errors(&outcome));
        assert_eq!(printed, "refused: 3\n", "{said}");
        let wanted = "syncline: syncline_host_memory is neither true nor false at rank 2\n";
        assert!(said.contains(wanted), "{said}");
    });
}

#[test]
fn the_mpi_library_gets_only_calls_that_cannot_be_copies() {
    on_each(|mpi| {
        let flags = ["-DLIBRARY", "-shared", "-fPIC"];
        let counter = Program::compile_by_with(&mpi.compiler(), "mpi_memory.c", &flags);
        for (scheme, passed_on) in [("full-support", "two at most"), ("library", "more")] {
            let passed_on = if mpi.is_by_messages() { "more" } else { passed_on };
            let mut command = scene(mpi, scheme, 3, &["copies", "12"]);
            let printed = printed(command.env("LD_PRELOAD", counter.path()));
            assert_eq!(printed, format!("passed on: {passed_on}, all\n"), "{scheme}, {}", mpi.name);
        }
    });
}
