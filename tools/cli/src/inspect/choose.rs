//! The locks to trace, as lines that the tracing library reads. Each line stands for a range of a
//! file or of memory.
//!
//! | line | stands for |
//! |---|---|
//! | `site MODULE START END` | calls that acquire a lock, with their last byte in this range of the file |
//! | `lock MODULE START END` | locks in this range of the file |
//! | `lock - START END` | locks at these addresses of memory |
//!
//! With `site:N` in place of `site`, a line says that threads waited N microseconds at these calls
//! in a recording. The calls with the most waiting have priority from the start of the run.
//!
//! If there are no lines, all locks are traced.

use std::collections::BTreeSet;
use std::path::Path;

use syncline_analysis::model::{Module, Process, Site, SymbolSource};
use syncline_analysis::{Analysis, Options};
use syncline_code::locate::{Found, Missing, Span};
use syncline_policy::Files;

use super::args::Inspect;
use crate::failure::{Failure, RECORD_FAILED};

/// The most call sites that are taken from a process if none of its findings and none of its
/// remaining waiting has a call site that acquires a lock.
const HOTTEST: usize = 8;

/// The lines for the locks that the command line names, either directly or through a recording.
///
/// # Errors
/// With [`RECORD_FAILED`]: if a name stands for nothing in the program, or the program's names
/// can't be read; if the recording can't be read, has no wait for a lock, or was made with another
/// build.
pub fn wanted(args: &Inspect, program: &Path) -> Result<String, Failure> {
    let mut lines = BTreeSet::new();
    if let Some(recording) = &args.from {
        let analysis = Analysis::load(recording, &Options::default())
            .map_err(|error| Failure::unreadable(recording, error).with_status(RECORD_FAILED))?;
        for process in &analysis.processes {
            suspects(process, &mut lines);
        }
        if let Some(changed) = analysis.processes.iter().find_map(|p| another_build(p, &lines)) {
            let message = format!(
                "{changed} is not the build that was recorded in {}: its addresses differ",
                recording.display()
            );
            return Err(Failure::message(RECORD_FAILED, message)
                .hint("record this build, or give --site or --lock instead of --from"));
        }
        if lines.is_empty() {
            let message = format!("no thread waited for a lock in {}", recording.display());
            return Err(Failure::message(RECORD_FAILED, message)
                .hint("without --from, all locks are traced"));
        }
    }
    if !args.site.is_empty() || !args.lock.is_empty() {
        let files = Files::of(program).map_err(|error| {
            let message = format!("can't read the names in {}: {error}", program.display());
            Failure::message(RECORD_FAILED, message)
                .hint("--site and --lock need the program itself, not a script that starts it")
        })?;
        // Names are looked up in the files as they are now, since these files will be run.
        for name in &args.site {
            add("site", name, files.names().site(name, |_| true), &mut lines)?;
        }
        for name in &args.lock {
            add("lock", name, files.names().object(name, |_| true), &mut lines)?;
        }
    }
    Ok(lines.into_iter().collect::<Vec<_>>().join("\n"))
}

fn add(
    kind: &str,
    name: &str,
    found: Result<Found, Missing>,
    lines: &mut BTreeSet<String>,
) -> Result<(), Failure> {
    let found = found.map_err(|missing| {
        let (why, hint) = match missing {
            Missing::NoSymbols => (
                "the program has no symbols to look it up in",
                "without --site and --lock, all locks are traced",
            ),
            Missing::NoSuchName | Missing::Changed => (
                "the program has no lock and no call site of this name",
                "`syncline inspect -- PROGRAM` lists its locks and the call sites that acquire them",
            ),
        };
        Failure::message(RECORD_FAILED, format!("--{kind} {name}: {why}")).hint(hint)
    })?;
    lines.extend(found.spans.iter().map(|Span { module, addresses }| {
        format!("{kind} {module} {:#x} {:#x}", addresses.start, addresses.end)
    }));
    Ok(())
}

/// Adds the call sites of a process that acquire locks and belong to a finding or to the remaining
/// waiting. If there are none, adds the call sites with the most waiting.
fn suspects(process: &Process, lines: &mut BTreeSet<String>) {
    let acquires = |site: &&Site| site.op.class() == syncline_recording::Class::Acquire;
    let before = lines.len();
    let found = process.findings.iter().map(|finding| &finding.sites);
    for sites in found.chain(process.remaining.iter().map(|remaining| &remaining.sites)) {
        let sites = sites.iter().filter_map(|&site| process.sites.get(site));
        sites.filter(acquires).for_each(|site| add_site(process, site, lines));
    }
    if lines.len() == before {
        let waited = process.sites.iter().filter(acquires).filter(|s| s.figures.waited > 0.0);
        waited.take(HOTTEST).for_each(|site| add_site(process, site, lines));
    }
}

/// A file that has chosen call sites but is no longer the build that was recorded, so that the
/// addresses would belong to other code. `None` if there is no such file.
fn another_build<'a>(process: &'a Process, lines: &BTreeSet<String>) -> Option<&'a str> {
    let changed = process.modules.iter().filter(|m| m.symbols == Some(SymbolSource::Changed));
    let has_suspects = |module: &&Module| {
        let here = format!(" {} 0x", module.name());
        lines.iter().any(|line| line.starts_with("site") && line.contains(&here))
    };
    changed.filter(has_suspects).map(|module| module.path.as_str()).next()
}

fn add_site(process: &Process, site: &Site, lines: &mut BTreeSet<String>) {
    for &stack in &site.stacks {
        let Some(&address) = process.stacks.get(stack).and_then(|s| s.addresses.first()) else {
            continue;
        };
        let call = address.wrapping_sub(1);
        let covers = |m: &&Module| (m.start..m.end).contains(&call);
        let Some(module) = process.modules.iter().find(covers) else { continue };
        let call = call.wrapping_sub(module.bias);
        let (module, waited) = (module.name(), (site.figures.waited * 1e6) as u64);
        lines.insert(format!("site:{waited} {module} {call:#x} {:#x}", call + 1));
    }
}
