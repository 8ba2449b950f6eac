//! Reads a recording of a kernel, computes the report, and prints it.

use std::io::{BufWriter, Write, stdout};
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use syncline_conflicts::Options;
use syncline_kernel::contention;
use syncline_kernel::run::{self, About, INVARIANTS};
use syncline_present::number::grouped;

use super::args::Kernel;
use super::say::{failure, say};
use super::show;
use crate::failure::{Failure, REPORT_FAILED};
use crate::inspect::free_memory;
use crate::progress::Bar;
use crate::terminal::style;

/// The name and version of the JSON document. The version changes when a field is removed or gets
/// another meaning. New fields may be added without a new version.
const SCHEMA: &str = "syncline-kernel/1";
/// The most violations of the invariants that are printed.
const BREACHES: usize = 8;

/// Prints the report on a recording. If the recording contradicts itself, the exit status says so.
pub fn print(args: &Kernel, folder: &Path) -> Result<ExitCode, Failure> {
    let hint = "`syncline kernel` makes a recording of a kernel";
    let unreadable = |error| failure(error).hint(hint);
    let about = About::read(folder).map_err(unreadable)?;
    let classes = run::classes(folder).map_err(unreadable)?;
    let counts = run::counts(folder);
    let mut bar = Bar::new();
    let show_part = &mut |done: u64, of: u64| bar.show_part(done as usize, of as usize);
    let trace = run::trace(folder, free_memory(), show_part).map_err(unreadable)?;
    let options = Options { window: args.window, processors: about.processors as usize };
    let mut bar = Bar::new();
    let show_part = &mut |done, of| bar.show_part(done, of);
    let report = syncline_kernel::report::report(&trace, &classes, &options, show_part);
    drop(bar);
    let of_kernel = contention::compared(&run::histogram(folder), &trace);
    let mut out = BufWriter::new(stdout().lock());
    let written = if args.json {
        let document = json!({
            "schema": SCHEMA,
            "run": about,
            "counts": counts,
            "of_kernel": of_kernel,
            "report": report,
        });
        serde_json::to_writer(&mut out, &document).map_err(Into::into).and_then(|()| writeln!(out))
    } else {
        out.write_all(show::text(&about, &counts, of_kernel.as_ref(), &report, &style()).as_bytes())
    };
    written.and_then(|()| out.flush()).map_err(|error| Failure::new(REPORT_FAILED, error))?;
    // This leaks the trace on purpose: freeing a large trace takes seconds, and the process ends
    // soon.
    std::mem::forget(trace);
    let broken: u64 = INVARIANTS.iter().filter_map(|name| counts.get(*name)).sum();
    if broken == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let breaches = run::breaches(folder);
    for line in breaches.lines().take(BREACHES) {
        say(&classes.told(line));
    }
    let times = if broken == 1 { "once".to_owned() } else { format!("{} times", grouped(broken)) };
    let message = format!("the recording contradicts itself {times}: its figures can't be trusted");
    Err(Failure::message(REPORT_FAILED, message)
        .hint("please report this, with the kernel's release and the lines above"))
}
