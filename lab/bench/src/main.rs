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
        about: "time and memory that `syncline record` adds",
        fields: record_overhead::FIELDS,
        run: record_overhead::run,
    },
    Benchmark {
        name: "attach",
        about: "a server that runs already: how long it stops, and how fast it is meanwhile and after",
        fields: attach::FIELDS,
        run: attach::run,
    },
    Benchmark {
        name: "inspect-overhead",
        about: "time that `syncline inspect` adds, beside valgrind's lackey",
        fields: inspect_overhead::FIELDS,
        run: inspect_overhead::run,
    },
    Benchmark {
        name: "exec-overhead",
        about: "time and memory that `syncline exec` adds to a program built with the lock",
        fields: exec_overhead::FIELDS,
        run: exec_overhead::run,
    },
    Benchmark {
        name: "tune",
        about: "whether `syncline tune` finds the known locks, and gains what is predicted",
        fields: tuning::FIELDS,
        run: tuning::run,
    },
    Benchmark {
        name: "locks",
        about: "every lock of the catalogue, beside other libraries' locks",
        fields: locks::FIELDS,
        run: locks::run,
    },
    Benchmark {
        name: "stm",
        about: "transactions, beside a global lock and other libraries' transactions",
        fields: stm::FIELDS,
        run: stm::run,
    },
    Benchmark {
        name: "channels",
        about: "the channels, beside other libraries' channels",
        fields: channels::FIELDS,
        run: channels::run,
    },
    Benchmark {
        name: "simulator",
        about: "how fast accesses to memory are simulated",
        fields: simulator::FIELDS,
        run: simulator::run,
    },
    Benchmark {
        name: "table",
        about: "the hash tables, beside other libraries' tables",
        fields: tables::FIELDS,
        run: tables::run,
    },
    Benchmark {
        name: "dsm",
        about: "shared memory over ranks, beside one of SIGSEGV and MPI, and beside threads",
        fields: dsm::FIELDS,
        run: dsm::run,
    },
    Benchmark {
        name: "windows",
        about: "locks of MPI windows, beside the MPI libraries' own",
        fields: windows::FIELDS,
        run: windows::run,
    },
    Benchmark {
        name: "dht",
        about: "the distributed hash table, beside one over an MPI library's windows",
        fields: dht::FIELDS,
        run: dht::run,
    },
];

/// Measures what Syncline costs and what it brings.
#[derive(Parser)]
#[command(name = "syncline-bench")]
struct Arguments {
    /// Name of a benchmark, `accuracy` for the workloads, or `list`
    benchmark: String,
    /// Less precise, but done in under 40 seconds
    #[arg(long)]
    quick: bool,
    /// Only try that it works
    #[arg(long, hide = true, conflicts_with = "quick")]
    smoke: bool,
    /// Put the tables of `accuracy` into docs/accuracy.md
    #[arg(long)]
    markdown: bool,
    /// The folder of described programs for `accuracy` and `record-overhead`, which replace those
    /// that they run otherwise
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// Also measures these programs with another library preloaded; can be given several times
    #[arg(long = "peer", value_name = "NAME=LIBRARY.so", requires = "programs")]
    peers: Vec<record_overhead::Peer>,
    /// `simulator` compares a simulation of this machine with the machine itself, instead of
    /// measuring the simulator's speed
    #[arg(long, conflicts_with = "programs")]
    compare: bool,
    /// `dht` also runs the benchmarks of other tables that files in this folder describe
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
    let commit = "`commit`, of `git describe --always --dirty`, or null if ./x did not say it";
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
        "--peer belongs to `record-overhead`"
    );
    anyhow::ensure!(
        arguments.described.is_none() || benchmark == "dht",
        "--peers belongs to `dht`"
    );
    anyhow::ensure!(
        !arguments.compare || benchmark == "simulator",
        "--compare belongs to `simulator`"
    );
    match (benchmark.as_str(), &arguments.programs) {
        ("simulator", None) if arguments.compare => simulator::compare::run(size),
        ("dht", None) => dht::run_with(size, arguments.described.as_deref()),
        ("accuracy", Some(folder)) => accuracy::programs::run(folder, size, *markdown),
        ("accuracy", None) => accuracy::run(size, *markdown),
        ("record-overhead", Some(folder)) => record_overhead::described::run(folder, peers, size),
        (_, Some(_)) => anyhow::bail!("--programs belongs to `accuracy` and `record-overhead`"),
        (name, None) => match BENCHMARKS.iter().find(|benchmark| benchmark.name == name) {
            Some(benchmark) => (benchmark.run)(size),
            None => anyhow::bail!("no benchmark `{name}`; `list` names them all"),
        },
    }
}
