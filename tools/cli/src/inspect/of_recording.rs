//! Traces of `syncline inspect` that a report on a recording uses: the trace in the recording's
//! folder, or another one that the user names.

use std::io::{Write, stderr};
use std::path::{Path, PathBuf};

use anyhow::Result;
use syncline_analysis::model::{Data, Inspected};
use syncline_analysis::{InFile, Inspections};
use syncline_conflicts::{Advice, Lock, LockFacts, NamedCause, Options, Proposal, facts, named};
use syncline_trace::{Trace, trace_files};

use super::names::Named;

/// The name of the folder, within a recording's folder, for the trace of the recorded program.
const TRACE: &str = "trace";

/// The path of the trace in a recording's folder. There may be no trace.
pub fn trace_of(recording: &Path) -> PathBuf {
    let folder = match recording.parent() {
        Some(parent) if recording.is_file() => parent,
        _ => recording,
    };
    folder.join(TRACE)
}

/// The traced facts about a recorded program. They come from the trace that the user names or, if
/// none is named, from the traces in the recordings' folders. If a trace in a recording's folder
/// can't be read, the rest of that folder is skipped, with a message on standard error.
///
/// # Errors
/// If the named trace can't be read or has no call site.
pub fn inspections<'a>(
    recordings: impl IntoIterator<Item = &'a Path>,
    named: Option<&Path>,
) -> Result<Inspections> {
    let mut inspections = Inspections::default();
    if let Some(folder) = named {
        read(folder, &mut inspections)?;
        anyhow::ensure!(!inspections.is_empty(), "there is no trace in {}", folder.display());
        return Ok(inspections);
    }
    for folder in recordings.into_iter().map(trace_of).filter(|folder| folder.is_dir()) {
        if let Err(error) = read(&folder, &mut inspections) {
            // An error is ignored: standard error may be closed, and the report is made as without
            // a trace.
            let _ = writeln!(stderr(), "syncline: can't read all of {}: {error}", folder.display());
        }
    }
    Ok(inspections)
}

/// Adds what the traces in a folder say about each call site.
fn read(folder: &Path, inspections: &mut Inspections) -> Result<()> {
    let options = Options { window: Options::WINDOW, processors: 1 };
    let library = Named::library();
    for path in trace_files(folder)? {
        let trace = Trace::open(&path)?;
        let facts = facts(&trace, &options);
        let report = named(&trace, &facts, &options, &mut Named::of(&trace, &library));
        for (facts, lock) in facts.locks.iter().zip(&report.locks) {
            add(&trace, facts, lock, inspections);
        }
    }
    Ok(())
}

fn add(trace: &Trace, facts: &LockFacts, lock: &Lock, inspections: &mut Inspections) {
    let unshared = |n: usize| {
        let site = &facts.sites[n];
        site.unshared_share() * site.total_instructions as f64
    };
    let most = (0..facts.sites.len()).max_by(|&a, &b| unshared(a).total_cmp(&unshared(b)));
    let shorten = |proposal: &Proposal| matches!(proposal.advice, Advice::Shorten { .. });
    let too_long = lock.advice.iter().any(shorten);
    for (number, (facts_of_site, site)) in facts.sites.iter().zip(&lock.sites).enumerate() {
        let Some(place) = in_file(trace, facts_of_site.site) else { continue };
        let inspected = Inspected {
            sections: facts_of_site.traced,
            writing: facts_of_site.writing,
            calling: facts_of_site.calling.max(facts_of_site.allocating),
            instructions: facts_of_site.instructions.median,
            most_instructions: facts_of_site.instructions.max,
            unshared: facts_of_site.unshared_share(),
            unshared_lines: site.unshared_lines.iter().map(|line| line.place.clone()).collect(),
            threads: facts.threads,
            independent: facts.independence(),
            pieces: facts.groups.groups,
            data: data(lock),
            too_long: too_long && most == Some(number),
        };
        inspections.add(place, inspected);
    }
}

/// The verdict on a lock's data. It comes from the first advice that is not about the length of
/// sections.
fn data(lock: &Lock) -> Data {
    let of_data = |p: &&Proposal| !matches!(p.advice, Advice::Shorten { .. });
    match lock.advice.iter().find(of_data).map(|proposal| proposal.advice) {
        Some(Advice::NothingShared) => Data::Local,
        Some(Advice::AlreadyAtomic) => Data::Atomic,
        Some(Advice::UseAtomic) => Data::OneWord,
        Some(Advice::Shard { .. }) => Data::Pieces,
        Some(Advice::SplitField { independence_without, .. }) => Data::OneField {
            field: lock.causes.first().map_or_else(String::new, NamedCause::to_split),
            independent_without: independence_without,
        },
        Some(Advice::LetReadersShare) => Data::MostlyIndependent { mostly_read: true },
        Some(Advice::UseOptimistic) => Data::MostlyIndependent { mostly_read: false },
        Some(Advice::TooFewSections) => Data::Unknown,
        Some(Advice::Leave | Advice::Shorten { .. }) | None => Data::Dependent,
    }
}

/// The position of a return address in a file, or `None` if no file was mapped there.
fn in_file(trace: &Trace, address: u64) -> Option<InFile> {
    let call = address.wrapping_sub(1);
    let module = trace.modules.iter().find(|m| (m.start..m.end).contains(&call))?;
    let path = module.path();
    Some(InFile {
        name: path.rsplit('/').next().unwrap_or(&path).to_owned(),
        build_id: module.build_id().iter().map(|byte| format!("{byte:02x}")).collect(),
        address: address.wrapping_sub(module.bias),
    })
}
