//! The call sites that an experiment may slow down: those of a report's findings, those of its
//! remaining costs, or a named one.

use syncline_analysis::model::{Delayed, Kind, Process, Site};
use syncline_recording::Class;

use crate::call::call_of;

/// A call site to slow down.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its name: as in a report, or as it was requested.
    pub place: String,
    /// The title of the finding or remaining cost there; `None` if there is none.
    pub title: Option<String>,
    /// Its calls: names, or addresses in files.
    pub calls: Vec<String>,
    /// The kind of operation to delay; `None` to choose the call site's most frequent one.
    pub delayed: Option<Delayed>,
    /// The mean length of its critical sections in seconds; `None` if it is unknown.
    pub section: Option<f64>,
    /// The gain that the report predicts, as a share of the run.
    pub predicted: Option<f64>,
}

/// The targets of a report: its findings first, then its remaining costs, without those of idle
/// threads. A target is left out if no operation there can be delayed, or if an earlier one delays
/// the same operation at one of its calls.
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

/// The target at these call sites, which a report shows as `place`; `None` if no operation there
/// can be delayed.
fn of_sites(
    process: &Process,
    place: &str,
    sites: &[usize],
    wanted: Option<Delayed>,
) -> Option<Target> {
    let sites: Vec<&Site> = sites.iter().filter_map(|&site| process.sites.get(site)).collect();
    // If no tries were refused, there are none to delay.
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

/// The kind of operation that is delayed at a call site by default; `None` if there is none.
fn natural(site: &Site) -> Option<Delayed> {
    match (site.op.class(), site.kind) {
        (Class::Try, Kind::Lock) if site.figures.refused > site.figures.calls => Some(Delayed::Try),
        (Class::Acquire | Class::Try, Kind::Lock) => Some(Delayed::Section),
        (Class::Acquire | Class::Wait, Kind::Event) => Some(Delayed::Wait),
        _ => None,
    }
}

/// Whether a call site has operations of this kind that can be delayed.
fn suits(site: &Site, delayed: Delayed) -> bool {
    match (site.op.class(), delayed) {
        (Class::Try, Delayed::Try | Delayed::Section | Delayed::Call) => true,
        (Class::Acquire, Delayed::Section | Delayed::Call) => site.kind == Kind::Lock,
        (Class::Acquire | Class::Wait, Delayed::Wait) => site.kind == Kind::Event,
        _ => false,
    }
}

/// The mean length of these sites' sections in seconds; `None` if it is unknown.
fn section(sites: &[&Site]) -> Option<f64> {
    let held: f64 = sites.iter().map(|site| site.figures.held).sum();
    let calls: u64 = sites.iter().map(|site| site.figures.calls).sum();
    (held > 0.0 && calls > 0).then(|| held / calls as f64)
}

/// The target for a call site that was requested by name, with the recording's data about it.
pub fn named(name: &str, delayed: Option<Delayed>, process: Option<&Process>) -> Target {
    let wanted = delayed.unwrap_or(Delayed::Section);
    let ending = format!("/{name}");
    let is_named = |place: &str| place == name || place.ends_with(&ending);
    let sites: Vec<&Site> = process
        .iter()
        .flat_map(|process| &process.sites)
        .filter(|site| is_named(&site.place))
        .filter(|site| suits(site, wanted))
        .collect();
    // The prediction for the call site is that of the report's first finding there.
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

/// The kind of operation to delay at a call site: refused tries if they are more than the sections,
/// waits if there are no sections, and otherwise sections.
pub fn most_frequent(sections: u64, tries: u64, waits: u64) -> Delayed {
    match (sections, tries, waits) {
        (sections, tries, _) if tries > sections => Delayed::Try,
        (0, _, 1..) => Delayed::Wait,
        _ => Delayed::Section,
    }
}
