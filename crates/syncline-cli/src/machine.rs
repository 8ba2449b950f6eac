//! `syncline machine`: measures what an access to memory costs, here or on a simulated machine.

use std::fs;
use std::io::{BufWriter, Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use syncline_probe::bench::{Bench, NativeBench, SimulatedBench};
use syncline_probe::{Effort, Measurement, describe, measure, report};
use syncline_sim::Machine;

use crate::args;
use crate::failure::{Failure, REPORT_FAILED};
use crate::report::Bar;

/// Measures, and shows what was measured.
pub fn run(args: &args::Machine) -> Result<ExitCode, Failure> {
    let done = measured(args).and_then(|measurement| show(args, &measurement));
    done.map_err(|error| Failure::new(REPORT_FAILED, error))?;
    Ok(ExitCode::SUCCESS)
}

fn measured(args: &args::Machine) -> Result<Measurement> {
    let Some(name) = &args.simulated else {
        let effort = if args.quick { Effort::QUICK } else { Effort::FULL };
        return with_bar(&NativeBench::new()?, &effort);
    };
    let machine = match Machine::named(name) {
        Some(machine) => machine,
        None if Path::new(name).exists() => Machine::load(Path::new(name))?,
        None => {
            let names: Vec<&str> = Machine::names().collect();
            bail!("there is no machine {name}, nor such a file; there are {}", names.join(", "))
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

/// The table comes first: it is there even if a file can't be written.
fn show(args: &args::Machine, measurement: &Measurement) -> Result<()> {
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
    // Standard error may be closed; the file is written all the same.
    let _ = writeln!(stderr(), "syncline: wrote {}", path.display());
    Ok(())
}
