//! Ranks on two hosts: programs have the same results under every scheme.
//!
//! The other host is a PID namespace, in which no memory of the first host's processes can be
//! opened.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use syncline_conformance::{Program, run_limited, scratch};

use crate::deaths::verdict;
use crate::libraries::{LIMIT, Mpi, SCHEMES, all, errors, printed, side_by_side};

/// A PID namespace: the process that keeps it alive, and the process number, outside of the
/// namespace, of its first process.
struct Host(Child, u32);

impl Host {
    /// A new host; `None` if this user may not create namespaces.
    fn new() -> Option<Host> {
        let apart = ["--pid", "--fork", "--mount-proc", "--kill-child"];
        if run_limited(Command::new("unshare").args(apart).arg("true"), LIMIT).status != 0 {
            eprintln!("skipped: this user may not make a namespace of process numbers");
            return None;
        }
        let mut command = Command::new("unshare");
        command.args(apart).args(["sh", "-c", "echo; exec sleep 1000"]).stdout(Stdio::piped());
        let mut child = command.spawn().expect("unshare");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("ready");
        let id = child.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("it");
        let inside =
            children.split_whitespace().next().expect("a child").parse().expect("a number");
        Some(Host(child, inside))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A command that starts a program with `ranks` ranks here and `others` ranks on the other host.
fn on_two(
    (mpi, host): (&Mpi, &Host),
    scheme: &str,
    (ranks, others): (u32, u32),
    program: &str,
    words: &[&str],
) -> Command {
    let mut command = mpi.command(&["--scheme", scheme], program, ranks, words);
    let program = Program::compile_by(&mpi.compiler(), program);
    command.args([":", "-n", &others.to_string(), "nsenter", "-p", "-m", "-t"]);
    command.arg(host.1.to_string()).arg(program.path()).args(words);
    // The MPI libraries can't use shared memory between these hosts either.
    command.env("UCX_TLS", "tcp,self").env("OMPI_MCA_btl", "tcp,self");
    command
}

fn everywhere(ranks: u32, words: &[&str], expected: &str) {
    let Some(host) = Host::new() else { return };
    // Open MPI's default windows need memory that all ranks share. MPICH 4.0.2 hangs in
    // MPI_Finalize in half of all runs on two such hosts, even without Syncline.
    for mpi in all().iter().filter(|mpi| mpi.is_by_messages()) {
        side_by_side(&SCHEMES, |scheme| {
            let mut command = on_two((mpi, &host), scheme, (ranks, ranks), "mpi_scenes.c", words);
            let printed = printed(&mut command);
            assert_eq!(printed, expected, "{words:?} under {scheme} on {}", mpi.name);
        });
    }
}

#[test]
fn sums_are_exact() {
    everywhere(2, &["sum", "12"], "allocate: 0 too few\n");
    everywhere(1, &["sum", "12"], "allocate: 0 too few\n");
}

#[test]
fn readers_are_inside_together() {
    everywhere(2, &["together"], "together\n");
}

#[test]
fn readers_and_writers_keep_apart() {
    everywhere(2, &["apart", "12", "apart_all", "12"], "apart\napart\n");
}

#[test]
fn a_waiter_drives_the_progress_that_the_holder_needs() {
    everywhere(1, &["progress"], "progress\n");
}

/// A rank dies on another host than the one that has the window's memory. The rank that waits for
/// the lock of that memory gets the lock. If the dead rank held the lock exclusively, the waiting
/// rank also gets an error that says so.
#[test]
fn locks_of_a_rank_killed_on_another_host_are_released() {
    let Some(host) = Host::new() else { return };
    let Some(mut mpi) = all().into_iter().find(Mpi::is_by_messages) else { return };
    mpi.more = &["--enable-recovery"];
    for (scheme, scene) in [
        ("full-support", "holder"),
        ("full-support", "readers"),
        ("full-support", "told"),
        ("best-effort", "holder"),
        ("fair", "readers"),
    ] {
        let folder = scratch();
        let file = folder.path().join("file");
        fs::write(&file, [0; 4096]).expect("a file");
        let words = [scene, file.to_str().expect("a name")];
        let mut command = on_two((&mpi, &host), scheme, (1, 2), "mpi_deaths.c", &words);
        let outcome = run_limited(&mut command, LIMIT);
        assert_eq!(verdict(&file), scene, "{scheme}: {}", errors(&outcome));
    }
}
