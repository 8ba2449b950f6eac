//! The comparison of two recordings, for a terminal.

use std::io::{self, Write};

use syncline_recording::{Class, command_line};

use super::text::{heading, more};
use syncline_analysis::diff::{Diff, Fate, FindingChange, Rates, Run, SiteChange};
use syncline_analysis::model::{Gain, Kind};
use syncline_analysis::name;
use syncline_present::number::{duration, percent, rate};
use syncline_present::terminal::{Paint, cell, printable};
use syncline_present::terminal::{Style, table};

/// The most findings, and the most sites, that are shown. Together they fit one screen.
const FINDINGS: usize = 10;
const SITES: usize = 10;
/// A change of the seconds waited, or held, at a site only counts if it is at least this much in
/// each second of run time.
const LEAST_WAITED: f64 = 1e-4;
/// A change of a number of calls, or of a time held, only counts if it is more than this share.
const LEAST_SHARE: f64 = 0.1;

/// Writes the differences between two recordings.
///
/// # Errors
/// Same errors as writing to `out`.
pub fn diff(diff: &Diff, out: &mut impl Write, style: &Style) -> io::Result<()> {
    let command = |run: &Run| printable(&command_line(&run.arguments));
    let (before, after) = (&diff.before, &diff.after);
    writeln!(out, "{}", Paint::Dim.on(&format!("before  {}", command(before)), style))?;
    writeln!(out, "{}\n", Paint::Dim.on(&format!("after   {}", command(after)), style))?;
    runs(before, after, out, style)?;
    findings(&diff.findings, out, style)?;
    let of = |kind: Kind| -> Vec<&SiteChange> {
        let sites = diff.sites.iter().filter(|site| site.kind == kind);
        sites.filter(|site| is_worth_a_line(site)).collect()
    };
    let remark = "in each second of run time, before and after; most changed first";
    sites("CALL SITES", remark, &of(Kind::Lock), out, style)?;
    let others: Vec<&SiteChange> = [of(Kind::Futex), of(Kind::Event)].concat();
    sites("FUTEXES AND EVENTS", "in each second of run time, before and after", &others, out, style)
}

fn runs(before: &Run, after: &Run, out: &mut impl Write, style: &Style) -> io::Result<()> {
    let row = |what: &str, of: fn(&Run) -> f64, show: fn(f64) -> String| {
        let (a, b) = (of(before), of(after));
        let change = if a > 0.0 { signed((b - a) / a) } else { String::new() };
        [cell(show(a)), cell(show(b)).paint(Paint::Bold), cell(change), cell(what)]
    };
    let rows = vec![
        row("run time", |run| run.seconds, duration),
        row("waiting for locks, all threads", |run| run.waited, duration),
        row("waiting for locks, share of threads' time", |run| run.lock_share, percent),
        row("acquisitions a second", |run| run.acquisitions_per_second, rate),
        row("threads", |run| run.threads as f64, |number| format!("{number}")),
    ];
    table::write(out, style, ["before", "after", "change", ""], rows)
}

fn findings(changes: &[FindingChange], out: &mut impl Write, style: &Style) -> io::Result<()> {
    let number = |fate: Fate| changes.iter().filter(|change| change.fate == fate).count();
    let counts = format!(
        "{} new, {} changed, {} gone, {} the same",
        number(Fate::New),
        number(Fate::Changed),
        number(Fate::Gone),
        number(Fate::Same)
    );
    heading("FINDINGS", &counts, out, style)?;
    let gain = |gain: Option<Gain>| cell(gain.map_or("-".to_owned(), |g| percent(g.share)));
    let row = |change: &FindingChange| {
        let (word, paint) = match change.fate {
            Fate::New => ("new", Paint::Red),
            Fate::Changed => ("changed", Paint::Yellow),
            Fate::Gone => ("gone", Paint::Bold),
            Fate::Same => ("same", Paint::Dim),
        };
        let text = format!("{}  {}", change.title, short(&change.place));
        [cell(word).paint(paint), gain(change.before), gain(change.after), cell(text)]
    };
    let rows = changes.iter().take(FINDINGS).map(row).collect();
    table::write(out, style, ["", "saves", "now", "what, and where"], rows)?;
    more(changes.len().saturating_sub(FINDINGS), "finding", out, style)
}

fn sites(
    title: &str,
    remark: &str,
    changes: &[&SiteChange],
    out: &mut impl Write,
    style: &Style,
) -> io::Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    heading(title, remark, out, style)?;
    let row = |change: &&SiteChange| {
        let show = |rates: Option<Rates>, of: fn(&Rates) -> f64, show: fn(f64) -> String| {
            cell(rates.map_or("-".to_owned(), |rates| show(of(&rates))))
        };
        let (before, after) = (change.before, change.after);
        let paint = if change.waited() > 0.0 { Paint::Red } else { Paint::Bold };
        [
            show(before, |rates| rates.waited, duration),
            show(after, |rates| rates.waited, duration).paint(paint),
            show(before, |rates| rates.held, duration),
            show(after, |rates| rates.held, duration),
            show(before, |rates| rates.calls, rate),
            show(after, |rates| rates.calls, rate),
            cell(place(change)),
        ]
    };
    let rows = changes.iter().take(SITES).map(row).collect();
    let titles = ["waited", "now", "held ~", "now", "acquired", "now", "call site"];
    table::write(out, style, titles, rows)?;
    more(changes.len().saturating_sub(SITES), "site with less change", out, style)
}

fn place(change: &SiteChange) -> String {
    let function = name::function(&change.function);
    let op = change.op.label();
    match (&change.file, change.line) {
        (Some(file), Some(line)) => format!("{function} {file}:{line}  {op}"),
        (Some(file), None) => format!("{function} {file}  {op}"),
        _ => format!("{function}  {op}"),
    }
}

/// A call site without arguments and without the folders of its file: `push queue.c:12` for
/// `push(int) at /src/queue.c:12`.
fn short(place: &str) -> String {
    match place.rsplit_once(" at ") {
        Some((function, file)) => {
            let file = file.rsplit('/').next().unwrap_or(file);
            format!("{} {file}", name::function(function))
        }
        None => place.to_owned(),
    }
}

/// Whether threads wait or take a lock at a site, and waiting, holding or calls have changed by
/// more than runs of one program differ.
fn is_worth_a_line(change: &SiteChange) -> bool {
    let (before, after) = (change.before.unwrap_or_default(), change.after.unwrap_or_default());
    let uses = matches!(change.op.class(), Class::Acquire | Class::Try | Class::Wait);
    let moved = |a: f64, b: f64| (a - b).abs() > LEAST_SHARE * a.max(b);
    let held = (before.held - after.held).abs() >= LEAST_WAITED;
    let changed = change.waited().abs() >= LEAST_WAITED
        || held && moved(before.held, after.held)
        || moved(before.calls, after.calls);
    uses && changed
}

/// A share with its sign: `+12.3 %`, `-50.0 %`.
fn signed(share: f64) -> String {
    match share {
        share if share.abs() < 0.001 => "0 %".to_owned(),
        share if share < 0.0 => format!("-{}", percent_of(-share)),
        share => format!("+{}", percent_of(share)),
    }
}

/// A change as text: in percent, or as a factor if it is large.
fn percent_of(share: f64) -> String {
    if share >= 10.0 { format!("{share:.0} times") } else { format!("{:.1} %", share * 100.0) }
}
