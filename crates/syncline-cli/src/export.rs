//! `syncline export`: writes a recording for other tools.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use syncline_analysis::export::{self, Value};
use syncline_analysis::model::Kind;
use syncline_analysis::{Analysis, Options};

use crate::args::{self, Format};
use crate::failure::Failure;
use crate::report::Bar;

/// Exports.
pub fn run(args: &args::Export) -> Result<ExitCode, Failure> {
    convert(args).map_err(|error| Failure::unreadable(&args.recording, error))?;
    Ok(ExitCode::SUCCESS)
}

fn convert(args: &args::Export) -> Result<()> {
    let to_stdout = args.output == Path::new("-");
    let binary = matches!(args.format, Format::Pprof | Format::Perfetto);
    if binary && to_stdout && stdout().is_terminal() {
        bail!("this format is binary, and standard output is a terminal: give --output FILE");
    }
    let mut bar = Bar::new();
    let options = Options::default();
    let analysis =
        Analysis::load_with_progress(&args.recording, &options, &mut |at| bar.show(&at))?;
    drop(bar);
    if to_stdout {
        let mut out = BufWriter::new(stdout().lock());
        write(&analysis, args, &mut out)?;
        out.flush()?;
    } else {
        let to_file = || -> Result<()> {
            let mut out = BufWriter::new(File::create(&args.output)?);
            write(&analysis, args, &mut out)?;
            Ok(out.flush()?)
        };
        to_file().with_context(|| format!("can't write {}", args.output.display()))?;
        tell(&format!("wrote {}", args.output.display()));
    }
    if is_empty(&analysis, args.format) {
        tell("the recording has nothing that this format shows");
    }
    Ok(())
}

fn write(analysis: &Analysis, args: &args::Export, out: &mut impl Write) -> std::io::Result<()> {
    let value = match args.value {
        args::Value::Delay => Value::Delay,
        args::Value::Waits => Value::Waits,
    };
    match args.format {
        Format::Pprof => export::pprof(analysis, out),
        Format::Perfetto => export::perfetto(analysis, out),
        Format::Firefox => export::firefox(analysis, out),
        Format::Folded => export::folded(analysis, value, out),
        Format::Json => export::json(analysis, out),
    }
}

/// Whether there is nothing to see: no wait for a lock in a profile, no event in a trace.
fn is_empty(analysis: &Analysis, format: Format) -> bool {
    analysis.processes.iter().all(|process| match format {
        Format::Pprof | Format::Folded => {
            let mut locks = process.sites.iter().filter(|site| site.kind == Kind::Lock);
            locks.all(|site| site.figures.waits + site.figures.unfinished == 0)
        }
        Format::Perfetto | Format::Firefox => process.timeline.threads.iter().all(Vec::is_empty),
        Format::Json => false,
    })
}

/// Standard error may be closed; what is said there is not what was asked for.
fn tell(text: &str) {
    let _ = writeln!(stderr(), "syncline: {text}");
}
