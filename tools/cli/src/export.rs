//! `syncline export`: writes a recording for other tools.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use syncline_analysis::model::Kind;
use syncline_analysis::{Analysis, Options};
use syncline_report::export;

use crate::arguments::DEFAULT_RECORDING;
use crate::failure::Failure;
use crate::inspect::inspections;
use crate::{report, statuses};

/// Export a recording for other tools
///
/// Profiles (pprof, folded) show how long threads waited for locks in the whole run, by call stack.
/// Traces (perfetto, firefox) show what each thread waited for, and when. If the program was
/// recorded with `record --timeline`, they also show which locks each thread held. For a long run,
/// they cover only windows of time.
///
/// For example: `syncline export --format folded | inferno-flamegraph > waits.svg`
#[derive(clap::Args)]
#[command(after_long_help = statuses::READING)]
pub struct Export {
    /// Recording to export
    #[arg(default_value = DEFAULT_RECORDING)]
    pub recording: PathBuf,

    /// Format to write
    #[arg(short, long, value_enum)]
    pub format: Format,

    /// File to write to; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,

    /// What the widths of a flame graph mean; only for folded stacks
    #[arg(long, value_enum, default_value_t = Value::Delay)]
    pub value: Value,
}

/// The formats that other tools read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A profile for `go tool pprof`
    Pprof,
    /// A trace for ui.perfetto.dev
    Perfetto,
    /// A profile for profiler.firefox.com
    Firefox,
    /// Folded stacks for flame graphs
    Folded,
    /// The JSON report, with the timelines of the threads
    Json,
}

/// The value that a flame graph shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Value {
    /// Microseconds of waiting
    Delay,
    /// Number of waits
    Waits,
}

/// Exports the recording.
pub fn run(args: &Export) -> Result<ExitCode, Failure> {
    convert(args).map_err(|error| Failure::unreadable(&args.recording, error))?;
    Ok(ExitCode::SUCCESS)
}

fn convert(args: &Export) -> Result<()> {
    let to_stdout = args.output == Path::new("-");
    let binary = matches!(args.format, Format::Pprof | Format::Perfetto);
    if binary && to_stdout && stdout().is_terminal() {
        bail!(
            "pprof and perfetto are binary formats, and are not written to a terminal: name a file \
             with --output FILE"
        );
    }
    let inspections = inspections([args.recording.as_path()], None)?;
    let mut analysis =
        report::read(&args.recording, &Options { inspections, ..Options::default() })?;
    report::add_experiments(&mut analysis, &args.recording);
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
        print_message(&format!("wrote {}", args.output.display()));
    }
    if is_empty(&analysis, args.format) {
        print_message("the recording has nothing that this format shows");
    }
    Ok(())
}

fn write(analysis: &Analysis, args: &Export, out: &mut impl Write) -> std::io::Result<()> {
    let value = match args.value {
        Value::Delay => export::Value::Delay,
        Value::Waits => export::Value::Waits,
    };
    match args.format {
        Format::Pprof => export::pprof(analysis, out),
        Format::Perfetto => export::perfetto(analysis, out),
        Format::Firefox => export::firefox(analysis, out),
        Format::Folded => export::folded(analysis, value, out),
        Format::Json => export::json(analysis, out),
    }
}

/// Whether the output would be empty: the profile has no wait for a lock, or the trace has no
/// event.
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

/// Prints a message on standard error. An error is ignored, because standard error may be closed
/// and the message is not part of the output.
fn print_message(text: &str) {
    let _ = writeln!(stderr(), "syncline: {text}");
}
