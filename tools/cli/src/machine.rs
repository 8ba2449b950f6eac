//! `syncline machine`: measures what accesses to memory cost, on this machine or on a simulated
//! one.

use std::fs;
use std::io::{BufWriter, Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use syncline_probe::bench::{Bench, NativeBench, SimulatedBench};
use syncline_probe::{Effort, Measurement, describe, measure, report};

use crate::failure::{Failure, REPORT_FAILED};
use crate::progress::Bar;
use crate::statuses;

/// Measure what an access to memory costs on this machine
///
/// Measures loads, stores and atomic operations on cache lines in each state of the coherence
/// protocol, at each distance between two hardware threads, like SSYNC's ccbench. This takes a few
/// seconds for a few processors, and a minute or two for hundreds. The machine should be idle
/// meanwhile.
#[derive(clap::Args)]
#[command(after_long_help = statuses::READING)]
pub struct Machine {
    /// Simulated machine to measure instead: its name, or the file that describes it
    #[arg(value_name = "MACHINE")]
    pub simulated: Option<String>,

    /// Take fewer samples, for a first look at this machine
    #[arg(long, conflicts_with = "simulated")]
    pub quick: bool,

    /// Write a description of the machine, for simulations, to FILE; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the result to FILE as an HTML page that needs no other file and no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Measures a machine, and shows the result.
pub fn run(args: &Machine) -> Result<ExitCode, Failure> {
    let done = measured(args).and_then(|measurement| show(args, &measurement));
    done.map_err(|error| Failure::new(REPORT_FAILED, error))?;
    Ok(ExitCode::SUCCESS)
}

fn measured(args: &Machine) -> Result<Measurement> {
    let Some(name) = &args.simulated else {
        let effort = if args.quick { Effort::QUICK } else { Effort::FULL };
        return with_bar(&NativeBench::new()?, &effort);
    };
    let machine = match syncline_sim::Machine::named(name) {
        Some(machine) => machine,
        None if Path::new(name).exists() => syncline_sim::Machine::load(Path::new(name))?,
        None => {
            let names: Vec<&str> = syncline_sim::Machine::names().collect();
            bail!("`{name}` is neither a machine nor a file; the machines are {}", names.join(", "))
        }
    };
    if machine.is_uncached() {
        bail!("{name} has no caches for shared memory, so its lines have no states to measure");
    }
    with_bar(&SimulatedBench::new(&machine, 1), &Effort::SIMULATED)
}

fn with_bar<B: Bench>(bench: &B, effort: &Effort) -> Result<Measurement> {
    let mut bar = Bar::new();
    Ok(measure(bench, effort, &mut |at| bar.show_part(at.done, at.of))?)
}

/// Prints the table and writes the files. The table comes first, so that it is printed even if a
/// file can't be written.
fn show(args: &Machine, measurement: &Measurement) -> Result<()> {
    let to_stdout = args.json.as_deref() == Some(Path::new("-"));
    let mut out = BufWriter::new(stdout().lock());
    let description = describe(measurement);
    let json = || serde_json::to_string_pretty(&description);
    if to_stdout {
        writeln!(out, "{}", json()?)?;
    } else {
        report::terminal(measurement, &mut out)?;
    }
    out.flush()?;
    if let Some(path) = args.json.as_deref().filter(|_| !to_stdout) {
        write(path, format!("{}\n", json()?).as_bytes())?;
    }
    if let Some(path) = &args.html {
        let mut page = Vec::new();
        report::html(measurement, &mut page)?;
        write(path, &page)?;
    }
    Ok(())
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    fs::write(path, content).with_context(|| format!("can't write {}", path.display()))?;
    // An error is ignored: standard error may be closed, and the file is written already.
    let _ = writeln!(stderr(), "syncline: wrote {}", path.display());
    Ok(())
}
