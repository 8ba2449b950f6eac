//! Locks of MPI windows: a program under `syncline mpi`, compared with the same program with the
//! MPI library's own locks.
//!
//! The program is the microbenchmark of the paper on MPI's passive target: each rank locks and
//! unlocks a random rank's part, with shared locks, exclusive locks, and both. The result is the
//! median time of a pair, with nothing in between, and with a get and a put under each exclusive
//! lock. There are 4 ranks. If these outnumber the processors, the results of both sides also
//! depend on the scheduler.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde::Serialize;

use crate::compare::{self, Case, Change, Measure, Row, Side};
use crate::lab::{Lab, built};
use crate::process;
use crate::record_overhead::figures;
use crate::size::Size;
use crate::statistics::median;
use crate::table;

const SCHEME: &str = "full-support";
const RANKS: &str = "4";

const EMPTY: &str = "Nothing in between";
const ALLOCATED: &str = "Get and put in windows of MPI_Win_allocate";
const CREATED: &str = "Get and put in windows of MPI_Win_create";
const IN_SHARED_MEMORY: &str = "Open MPI's windows in shared memory";

/// The last line of output.
#[derive(Serialize)]
struct Summary {
    empty_worst_ratio: f64,
    allocated_worst_ratio: f64,
    created_worst_ratio: f64,
    sm_worst_ratio: f64,
    starved: f64,
}

/// The fields of the last line, as `--help` describes them.
pub const FIELDS: &str = "
  empty_worst_ratio      median of lock + unlock under `full-support` over that of the MPI
                         library's own lock; the worst of three mixes and of all libraries
  allocated_worst_ratio  the same with a get and a put in windows of MPI_Win_allocate, Open MPI
  created_worst_ratio    the same in windows of MPI_Win_create
  sm_worst_ratio         the same ratio for Open MPI's windows in shared memory, with and without a
                         get and a put
  starved                ranks whose longest wait exceeds 100 times the median of all waits, under
                         `fair`, where all want one part; the median of the runs
";

/// An MPI library. `commands` is the suffix of its commands' names. `flags` are the words that
/// complete its starter's options. `slower` is the factor by which it does fewer pairs in the same
/// time.
struct Library {
    name: &'static str,
    commands: &'static str,
    flags: &'static [&'static str],
    slower: u32,
}

const CROWDED: [&str; 5] = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle"];

const LIBRARIES: [Library; 4] = [
    Library { name: "Open MPI", commands: "openmpi", flags: &["1"], slower: 1 },
    Library {
        name: "Open MPI, pt2pt",
        commands: "openmpi",
        flags: &["1", "--mca", "osc", "pt2pt"],
        slower: 1,
    },
    Library {
        name: "Open MPI, sm",
        commands: "openmpi",
        flags: &["1", "--mca", "osc", "sm"],
        slower: 1,
    },
    Library { name: "MPICH", commands: "mpich", flags: &[], slower: 40 },
];

pub fn run(size: Size) -> anyhow::Result<String> {
    let lab = Lab::new(size)?;
    let files = ["syncline", "libsyncline_mpi.so"];
    let folder = built(&files, "-p syncline-cli -p syncline-mpi")?;
    let (open_mpi, mpich) = (compile(&lab, "openmpi")?, compile(&lab, "mpich")?);
    let mut cases = Vec::new();
    for library in &LIBRARIES {
        let program = if library.commands == "mpich" { &mpich } else { &open_mpi };
        let is_shared = library.flags.contains(&"sm");
        for (section, kind, transfers) in
            [(EMPTY, "allocate", "0"), (ALLOCATED, "allocate", "1"), (CREATED, "create", "1")]
        {
            // Windows in shared memory must be allocated by the library. Of the other libraries,
            // only Open MPI's default has windows of MPI_Win_allocate that can be compared with
            // shared memory.
            let section = match (is_shared, section) {
                (true, CREATED) => continue,
                (true, _) => IN_SHARED_MEMORY,
                (false, ALLOCATED) if library.flags.len() != 1 => continue,
                (false, section) => section,
            };
            let words = [kind.to_owned(), transfers.to_owned()];
            cases.push(case(&lab, &folder, library, program, (section, words)));
        }
    }
    let rows = compare::run(cases)?;
    println!("Window locks of {RANKS} ranks: the MPI library's own, and `{SCHEME}`");
    table::print("its own", "ours", &rows);
    let (starved, longest) = waits(&lab, &folder, &open_mpi)?;
    println!();
    println!("The longest wait for one part under `fair`: {longest:.0} times the median wait");
    println!();
    let worst = |section: &str| {
        let of = rows.iter().filter(|row: &&Row| row.section == section);
        let worst = of.map(|row| row.change().median).fold(0.0, f64::max);
        (worst * 1e4).round() / 1e4
    };
    Ok(serde_json::to_string(&Summary {
        empty_worst_ratio: worst(EMPTY),
        allocated_worst_ratio: worst(ALLOCATED),
        created_worst_ratio: worst(CREATED),
        sm_worst_ratio: worst(IN_SHARED_MEMORY),
        starved,
    })?)
}

fn compile(lab: &Lab, commands: &str) -> anyhow::Result<PathBuf> {
    let (text, result) = (lab.path("windows.c"), lab.path(&format!("windows_{commands}")));
    std::fs::write(&text, include_str!("../programs/windows.c"))?;
    let mut compiler = Command::new(format!("mpicc.{commands}"));
    compiler.args(["-std=gnu11", "-O2", "-o"]).arg(&result).arg(&text);
    process::run(compiler, lab.folder(), "mpicc")
        .with_context(|| format!("compiling for {commands}; `./x setup` installs what it takes"))?;
    Ok(result)
}

fn case<'a>(
    lab: &'a Lab,
    folder: &'a Path,
    library: &'static Library,
    program: &'a Path,
    (section, words): (&'static str, [String; 2]),
) -> Case<'a> {
    let pairs: u32 = (lab.size.pick(50, 1000, 1000) / library.slower).max(5);
    let measure = |label| Measure { label, change: Change::Ratio, aim: None };
    Case {
        section,
        name: format!("{}, {}{}", library.name, words[0], if words[1] == "0" { "" } else { " +" }),
        pairs: lab.size.pick(1, 3, 15),
        measures: ["shared ns", "mixed ns", "exclusive ns"].map(measure).into(),
        once: Box::new(move |side| {
            let scheme = match side {
                Side::Baseline => None,
                Side::Subject => Some(SCHEME),
            };
            let mut command = start(folder, library, scheme);
            command.arg(program).args(&words).arg(pairs.to_string());
            let finished = process::run(command, lab.folder(), "windows")?;
            let medians = figures(&finished.stdout)?;
            anyhow::ensure!(medians.len() == 3, "three medians were expected: {medians:?}");
            Ok(medians)
        }),
    }
}

/// The command that starts the ranks, under a scheme or with the library's own locks.
fn start(folder: &Path, library: &Library, scheme: Option<&str>) -> Command {
    let starter = format!("mpirun.{}", library.commands);
    let mut command = match scheme {
        None => Command::new(starter),
        Some(scheme) => {
            let mut command = Command::new(folder.join("syncline"));
            command.args(["mpi", "--scheme", scheme, "--", &starter]);
            command
        }
    };
    if library.commands == "openmpi" {
        command.args(CROWDED);
    }
    command.args(library.flags).args(["-n", RANKS]);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}

/// The number of ranks that starve under `fair`, and the longest wait relative to the median wait.
/// Both are medians of a few runs.
fn waits(lab: &Lab, folder: &Path, program: &Path) -> anyhow::Result<(f64, f64)> {
    let (mut starved, mut longest) = (Vec::new(), Vec::new());
    for _ in 0..lab.size.pick(1, 3, 15) {
        let mut command = start(folder, &LIBRARIES[0], Some("fair"));
        command.arg(program).args(["waits", &lab.size.pick(50, 1000, 1000).to_string()]);
        let found = figures(&process::run(command, lab.folder(), "windows")?.stdout)?;
        anyhow::ensure!(found.len() == 2, "two figures were expected: {found:?}");
        starved.push(found[0]);
        longest.push(found[1]);
    }
    Ok((median(&starved), median(&longest)))
}
