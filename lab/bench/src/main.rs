//! `syncline-bench`: comparisons that measure the costs and the gains of Syncline.
//!
//! Nearly every figure is a comparison of sides that ran in turn within one run (see [`compare`]),
//! because a shared machine never gives the same absolute figure twice. A benchmark is one module
//! and one entry of [`BENCHMARKS`]. It prints a table for people; its last line of output is one
//! JSON object for scripts.

mod accuracy;
mod attach;
mod channels;
mod compare;
mod dht;
mod dsm;
mod exec_overhead;
mod heap;
mod inspect_overhead;
mod lab;
mod locks;
mod origin;
mod process;
mod programs;
mod record_overhead;
mod recorder;
mod rounds;
mod simulator;
mod size;
mod statistics;
mod stm;
mod table;
mod tables;
mod tuning;
mod windows;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};
use size::Size;

struct Benchmark {
    name: &'static str,
    about: &'static str,
    /// A description of the fields of the last line.
    fields: &'static str,
    /// Prints the table and returns the JSON line.
    run: fn(Size) -> anyhow::Result<String>,
}

const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "record-overhead",
        about: "the time and memory that `syncline record` adds",
        fields: record_overhead::FIELDS,
        run: record_overhead::run,
    },
    Benchmark {
        name: "attach",
        about: "attaching to a running server: how long its threads stop, and its speed while recorded and later",
        fields: attach::FIELDS,
        run: attach::run,
    },
    Benchmark {
        name: "inspect-overhead",
        about: "the time that `syncline inspect` adds, compared with valgrind's lackey",
        fields: inspect_overhead::FIELDS,
        run: inspect_overhead::run,
    },
    Benchmark {
        name: "exec-overhead",
        about: "the time and memory that `syncline exec` takes beyond a program built with the same lock",
        fields: exec_overhead::FIELDS,
        run: exec_overhead::run,
    },
    Benchmark {
        name: "tune",
        about: "whether `syncline tune` finds the known locks, and whether predicted gains come true",
        fields: tuning::FIELDS,
        run: tuning::run,
    },
    Benchmark {
        name: "locks",
        about: "every lock of the catalogue, compared with other libraries' locks",
        fields: locks::FIELDS,
        run: locks::run,
    },
    Benchmark {
        name: "stm",
        about: "transactions, compared with a global lock and other libraries' transactions",
        fields: stm::FIELDS,
        run: stm::run,
    },
    Benchmark {
        name: "channels",
        about: "the channels, compared with other libraries' channels",
        fields: channels::FIELDS,
        run: channels::run,
    },
    Benchmark {
        name: "simulator",
        about: "how many accesses to memory are simulated per second",
        fields: simulator::FIELDS,
        run: simulator::run,
    },
    Benchmark {
        name: "table",
        about: "the hash tables, compared with other libraries' tables",
        fields: tables::FIELDS,
        run: tables::run,
    },
    Benchmark {
        name: "dsm",
        about: "shared memory over ranks, compared with one of SIGSEGV and MPI, and with threads",
        fields: dsm::FIELDS,
        run: dsm::run,
    },
    Benchmark {
        name: "windows",
        about: "locks of MPI windows, compared with the MPI libraries' own",
        fields: windows::FIELDS,
        run: windows::run,
    },
    Benchmark {
        name: "dht",
        about: "the distributed hash table, compared with one over an MPI library's windows",
        fields: dht::FIELDS,
        run: dht::run,
    },
];

/// Measure what Syncline costs and what it gains
#[derive(Parser)]
#[command(name = "syncline-bench")]
struct Arguments {
    /// Name of a benchmark, `accuracy` for what is found in the workloads, or `list` to list the names
    benchmark: String,
    /// Measure less precisely, in under 40 seconds
    #[arg(long)]
    quick: bool,
    /// Only check that the benchmark runs
    #[arg(long, hide = true, conflicts_with = "quick")]
    smoke: bool,
    /// Write the tables of `accuracy` into docs/accuracy.md
    #[arg(long)]
    markdown: bool,
    /// Folder that describes programs for `accuracy` or `record-overhead` to run instead of its own
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// Also measure the programs of --programs with this library preloaded; can be given several times
    #[arg(long = "peer", value_name = "NAME=LIBRARY.so", requires = "programs")]
    peers: Vec<record_overhead::Peer>,
    /// With `simulator`: compare a simulation of this machine with the machine, instead of measuring the
    /// simulator's speed
    #[arg(long, conflicts_with = "programs")]
    compare: bool,
    /// With `dht`: also run the benchmarks of other tables, which the files in this folder describe
    #[arg(long = "peers", value_name = "DIR", conflicts_with = "programs")]
    described: Option<PathBuf>,
}

fn main() -> ExitCode {
    if let Some(ended) = dht::run_if_rank() {
        return report_outcome(ended);
    }
    let command = Arguments::command().after_long_help(fields());
    let arguments = Arguments::from_arg_matches(&command.get_matches());
    report_outcome(arguments.map_err(anyhow::Error::from).and_then(run))
}

fn report_outcome(ended: anyhow::Result<()>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("syncline-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The part of `--help` with a description of each benchmark's last line.
fn fields() -> String {
    let of = |b: &Benchmark| format!("The last line of `{}`:\n{}", b.name, b.fields.trim_end());
    let mut texts: Vec<_> = BENCHMARKS.iter().map(of).collect();
    let commit =
        "`commit`: the output of `git describe --always --dirty`, or null if not run by ./x";
    texts.insert(0, format!("Each last line also has {commit}."));
    let fields = simulator::compare::FIELDS.trim_end();
    texts.push(format!("The last line of `simulator --compare`:\n{fields}"));
    texts.push(format!("The last line of `accuracy`:\n{}", accuracy::FIELDS.trim_end()));
    let fields = accuracy::programs::FIELDS.trim_end();
    texts.push(format!("The last line of `accuracy --programs DIR`:\n{fields}"));
    let fields = record_overhead::described::FIELDS.trim_end();
    texts.push(format!("The last line of `record-overhead --programs DIR`:\n{fields}"));
    texts.join("\n\n")
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    if arguments.benchmark == "list" {
        for benchmark in BENCHMARKS {
            println!("{:<20}{}", benchmark.name, benchmark.about);
        }
        return Ok(());
    }
    let size = match arguments {
        Arguments { smoke: true, .. } => Size::Smoke,
        Arguments { quick: true, .. } => Size::Quick,
        _ => Size::Full,
    };
    let commit = origin::commit();
    println!("{}", origin::sentence(commit.as_deref()));
    let line = last_line(&arguments, size)?;
    println!("{}", origin::with_commit(&line, commit.as_deref())?);
    Ok(())
}

/// Runs the requested benchmark, which prints its tables, and returns the last line.
fn last_line(arguments: &Arguments, size: Size) -> anyhow::Result<String> {
    let Arguments { benchmark, markdown, peers, .. } = arguments;
    anyhow::ensure!(
        peers.is_empty() || benchmark == "record-overhead",
        "--peer works only with `record-overhead`"
    );
    anyhow::ensure!(
        arguments.described.is_none() || benchmark == "dht",
        "--peers works only with `dht`"
    );
    anyhow::ensure!(
        !arguments.compare || benchmark == "simulator",
        "--compare works only with `simulator`"
    );
    match (benchmark.as_str(), &arguments.programs) {
        ("simulator", None) if arguments.compare => simulator::compare::run(size),
        ("dht", None) => dht::run_with(size, arguments.described.as_deref()),
        ("accuracy", Some(folder)) => accuracy::programs::run(folder, size, *markdown),
        ("accuracy", None) => accuracy::run(size, *markdown),
        ("record-overhead", Some(folder)) => record_overhead::described::run(folder, peers, size),
        (_, Some(_)) => {
            anyhow::bail!("--programs works only with `accuracy` and `record-overhead`")
        }
        (name, None) => match BENCHMARKS.iter().find(|benchmark| benchmark.name == name) {
            Some(benchmark) => (benchmark.run)(size),
            None => anyhow::bail!("there is no benchmark `{name}`; `list` lists them all"),
        },
    }
}
