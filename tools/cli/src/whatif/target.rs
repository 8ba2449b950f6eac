//! What to slow down: the places of a report's findings, what else takes time, or what is named.

use std::path::{Path, PathBuf};

use syncline_analysis::model::{Delayed, Kind, Process, Site, SymbolSource};
use syncline_analysis::{Analysis, Options};
use syncline_recording::Class;

use super::args::{MOST_PLACES, WhatIf};
use crate::arguments::DEFAULT_RECORDING;
use crate::failure::{Failure, RECORD_FAILED};
use crate::tune::call_of;

/// A place to slow down.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// What it is called: as a report calls it, or as it was asked for.
    pub place: String,
    /// What was found there.
    pub title: Option<String>,
    /// Its calls: names, or addresses in files.
    pub calls: Vec<String>,
    /// What is delayed; `None` if that is to be seen from what there is.
    pub delayed: Option<Delayed>,
    /// Seconds that a critical section takes.
    pub section: Option<f64>,
    /// What the report predicts, as a share of the run.
    pub predicted: Option<f64>,
}

/// A recording of the program.
pub struct Recorded {
    /// Where it is.
    pub path: PathBuf,
    /// The process that waited most.
    pub process: Process,
}

impl Recorded {
    /// The recording that was named, or the one in the usual place if it is of the same command.
    pub fn of(args: &WhatIf) -> Result<Option<Recorded>, Failure> {
        let path = match &args.from {
            Some(path) => path.clone(),
            None => PathBuf::from(DEFAULT_RECORDING),
        };
        let loaded = Analysis::load(&path, &Options::default());
        let analysis = match (loaded, &args.from) {
            (Ok(analysis), _) => analysis,
            (Err(error), Some(_)) => return Err(Failure::unreadable(&path, error)),
            (Err(_), None) => return Ok(None),
        };
        let command: Vec<String> =
            args.program.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let is_of_it = analysis.session.as_ref().is_some_and(|session| session.command == command);
        if args.from.is_none() && !is_of_it {
            return Ok(None);
        }
        let process = analysis.processes.into_iter().next();
        Ok(process.map(|process| Recorded { path, process }))
    }

    /// The file that the process ran.
    pub fn executable(&self) -> Option<&Path> {
        let path = Path::new(&self.process.executable);
        path.is_file().then_some(path)
    }
}

/// The call sites to slow down: all that `--site` names, or the first of the report, as many as
/// `--places` says.
///
/// # Errors
/// If there are none, or `--site` names more than [`MOST_PLACES`].
pub fn targets(args: &WhatIf, recorded: Option<&Recorded>) -> Result<Vec<Target>, Failure> {
    let process = recorded.map(|recorded| &recorded.process);
    if !args.site.is_empty() {
        let delayed = args.delay.map(super::args::What::delayed);
        if args.site.len() > MOST_PLACES {
            let message = format!("at most {MOST_PLACES} call sites can be slowed down at once");
            return Err(Failure::message(RECORD_FAILED, message));
        }
        return Ok(args.site.iter().map(|name| named(name, delayed, process)).collect());
    }
    let Some(process) = process else {
        return Err(Failure::message(RECORD_FAILED, "there is no recording of this command line")
            .hint("`syncline record -- PROGRAM` makes one; or name a call site with --site"));
    };
    refuse_another_build(process)?;
    let mut found = found(process);
    found.truncate(args.places);
    match found.is_empty() {
        true => {
            Err(Failure::message(RECORD_FAILED, "the report has no call site worth slowing down")
                .hint("name one with --site"))
        }
        false => Ok(found),
    }
}

/// What the report is about: its findings first, then what else takes time. Each call once.
pub fn found(process: &Process) -> Vec<Target> {
    let findings = process.findings.iter().map(|finding| {
        let delayed = finding.rule.about().delayed;
        let target = of_sites(process, &finding.place, &finding.sites, delayed);
        target.map(|target| Target {
            title: Some(finding.title.clone()),
            predicted: finding.gain.map(|gain| gain.share),
            ..target
        })
    });
    let remaining = process.remaining.iter().filter(|remaining| !remaining.idle).map(|remaining| {
        let target = of_sites(process, &remaining.place, &remaining.sites, None);
        target.map(|target| Target { title: Some(remaining.what.clone()), ..target })
    });
    let mut all: Vec<Target> = Vec::new();
    for target in findings.chain(remaining).flatten() {
        let is_known = |other: &Target| {
            other.delayed == target.delayed && other.calls.iter().any(|c| target.calls.contains(c))
        };
        if !all.iter().any(is_known) {
            all.push(target);
        }
    }
    all
}

/// A place with these sites; `None` if nothing there can be delayed.
fn of_sites(
    process: &Process,
    place: &str,
    sites: &[usize],
    wanted: Option<Delayed>,
) -> Option<Target> {
    let sites: Vec<&Site> = sites.iter().filter_map(|&site| process.sites.get(site)).collect();
    // A loop of tries of which none was refused has none to delay.
    let is_there = |delayed: &Delayed| {
        *delayed != Delayed::Try || sites.iter().any(|site| site.figures.refused > 0)
    };
    let natural = || sites.iter().find_map(|site| natural(site));
    let delayed = wanted.filter(is_there).or_else(natural)?;
    let fits = |site: &&&Site| suits(site, delayed);
    let sites: Vec<&Site> = sites.iter().filter(fits).copied().collect();
    let mut calls: Vec<String> = sites
        .iter()
        .flat_map(|site| &site.stacks)
        .filter_map(|&stack| call_of(process, stack).map(|(_, call)| call))
        .collect();
    calls.sort();
    calls.dedup();
    (!calls.is_empty()).then(|| Target {
        place: place.to_owned(),
        title: None,
        calls,
        delayed: Some(delayed),
        section: section(&sites).filter(|_| delayed == Delayed::Section),
        predicted: None,
    })
}

/// What is delayed at a site if nothing else is said.
fn natural(site: &Site) -> Option<Delayed> {
    match (site.op.class(), site.kind) {
        (Class::Try, Kind::Lock) if site.figures.refused > site.figures.calls => Some(Delayed::Try),
        (Class::Acquire | Class::Try, Kind::Lock) => Some(Delayed::Section),
        (Class::Acquire | Class::Wait, Kind::Event) => Some(Delayed::Wait),
        _ => None,
    }
}

/// Whether this is something that can be delayed at a site.
fn suits(site: &Site, delayed: Delayed) -> bool {
    match (site.op.class(), delayed) {
        (Class::Try, Delayed::Try | Delayed::Section | Delayed::Call) => true,
        (Class::Acquire, Delayed::Section | Delayed::Call) => site.kind == Kind::Lock,
        (Class::Acquire | Class::Wait, Delayed::Wait) => site.kind == Kind::Event,
        _ => false,
    }
}

/// The mean time that these sites' sections take.
fn section(sites: &[&Site]) -> Option<f64> {
    let held: f64 = sites.iter().map(|site| site.figures.held).sum();
    let calls: u64 = sites.iter().map(|site| site.figures.calls).sum();
    (held > 0.0 && calls > 0).then(|| held / calls as f64)
}

/// What was asked for by name, with what the recording knows of it.
fn named(name: &str, delayed: Option<Delayed>, process: Option<&Process>) -> Target {
    let wanted = delayed.unwrap_or(Delayed::Section);
    let ending = format!("/{name}");
    let is_named = |place: &str| place == name || place.ends_with(&ending);
    let sites: Vec<&Site> = process
        .iter()
        .flat_map(|process| &process.sites)
        .filter(|site| is_named(&site.place))
        .filter(|site| suits(site, wanted))
        .collect();
    // What the report says of the place is said of the finding that it stands for.
    let finding = process.and_then(|process| process.findings.iter().find(|f| is_named(&f.place)));
    Target {
        place: finding.map_or_else(|| name.to_owned(), |finding| finding.place.clone()),
        title: finding.map(|finding| finding.title.clone()),
        calls: vec![name.to_owned()],
        delayed,
        section: section(&sites),
        predicted: finding.and_then(|finding| Some(finding.gain?.share)),
    }
}

/// The addresses of a recording are those of the files that were recorded.
fn refuse_another_build(process: &Process) -> Result<(), Failure> {
    let changed = |m: &&syncline_analysis::model::Module| m.symbols == Some(SymbolSource::Changed);
    match process.modules.iter().find(changed) {
        None => Ok(()),
        Some(module) => {
            let message =
                format!("{} is another build than the one that was recorded", module.path);
            Err(Failure::message(RECORD_FAILED, message)
                .hint("record this build, or name a call site with --site"))
        }
    }
}
