//! The findings: what is wrong, why, what to do, and what the fix would save.

use std::io::{self, Write};

use super::place;
use super::text::{heading, more, paragraph};
use crate::process;
use crate::whatif;
use syncline_analysis::model::{Evidence, Finding, Process, Remaining, Unit};
use syncline_analysis::name;
use syncline_present::number::{count, duration, grouped, percent, rate};
use syncline_present::terminal::Style;
use syncline_present::terminal::{Paint, printable, shorten};

/// The most findings that are shown, since more would not fit one screen.
const FINDINGS: usize = 5;
/// The most findings with little gain that are named.
const SMALL: usize = 6;
/// The most waits of idle threads that are listed.
const IDLE: usize = 3;
/// The most numbers that are shown of a finding.
const EVIDENCE: usize = 4;
/// The first finding has a paragraph although it gains little, if threads lose at least this share
/// of their time at its call sites.
const LEAST_LOST: f64 = 0.02;

/// Writes the findings, most gain first.
pub fn findings(process: &Process, out: &mut impl Write, style: &Style) -> io::Result<()> {
    if process.findings.is_empty() {
        let lost = process.lock_share + process.spun() / process.thread_seconds.max(1e-12);
        let remark = format!("none; locks take {} of the threads' time", percent(lost));
        heading("FINDINGS", &remark, out, style)?;
        return in_other_runs(process, out, style);
    }
    let (large, small): (Vec<_>, Vec<_>) =
        process.findings.iter().enumerate().partition(|(number, finding)| {
            finding.gain.is_none_or(|gain| gain.share >= process::LEAST_GAIN)
                || *number == 0 && lost(process, finding) >= LEAST_LOST
        });
    let remark = match process.runs {
        _ if large.is_empty() => "none whose fix would save much",
        Some(_) => "most to gain first; gains are predicted: each is the mean over all runs",
        None if process::had_others(process) => {
            "most to gain first; gains are predicted, for an idle machine"
        }
        None => "most to gain first; gains are predicted",
    };
    heading("FINDINGS", remark, out, style)?;
    for (number, &(place, finding)) in large.iter().take(FINDINGS).enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        write_finding(number + 1, process, (place, finding), out, style)?;
    }
    more(large.len().saturating_sub(FINDINGS), "finding", out, style)?;
    let rule =
        |finding: &Finding| format!("{} ({})", place::short(&finding.place), finding.rule.name());
    let small: Vec<String> = small.iter().map(|(_, finding)| rule(finding)).collect();
    in_one_line("  Small: ", &small, out, style)?;
    in_other_runs(process, out, style)
}

/// The share of the threads' time in which they wait or poll at a finding's call sites.
fn lost(process: &Process, finding: &Finding) -> f64 {
    let seconds: f64 = finding.sites.iter().map(|&site| process.sites[site].figures.lost()).sum();
    seconds / process.thread_seconds.max(1e-12)
}

/// Writes the findings that the shown run does not have.
fn in_other_runs(process: &Process, out: &mut impl Write, style: &Style) -> io::Result<()> {
    let others = process.in_other_runs();
    let told: Vec<String> = others
        .map(|(seen, of)| {
            let place = place::short(&seen.place);
            format!("{place} ({}, {} of {of})", seen.rule.name(), seen.runs)
        })
        .collect();
    in_one_line("  In other runs only: ", &told, out, style)
}

/// Writes findings in one paragraph after `start`: the first [`SMALL`] of them, and how many more
/// there are.
fn in_one_line(
    start: &str,
    told: &[String],
    out: &mut impl Write,
    style: &Style,
) -> io::Result<()> {
    if told.is_empty() {
        return Ok(());
    }
    let rest = match told.len().saturating_sub(SMALL) {
        0 => String::new(),
        rest => format!(", and {} more", grouped(rest as u64)),
    };
    let told = told[..told.len().min(SMALL)].join(", ");
    writeln!(out)?;
    paragraph(start, &printable(&format!("{told}{rest}")), out, style)
}

/// Writes the locks and events that take time and that no finding explains.
pub fn remaining(process: &Process, out: &mut impl Write, style: &Style) -> io::Result<()> {
    let (idle, others): (Vec<_>, Vec<_>) = process.remaining.iter().partition(|r| r.idle);
    if !others.is_empty() {
        let remark = match process.critical_path.is_known() {
            true => "share of all threads' time; most of the critical path first",
            false => "share of all threads' time that no finding explains",
        };
        heading("WHAT ELSE TAKES TIME", remark, out, style)?;
    }
    for one in others.iter().take(FINDINGS) {
        let place = place(process, one);
        let text = format!("{}, at {place}. {}", one.what, one.why);
        let start = format!("  {:>6}  ", percent(one.share));
        paragraph(&start, &printable(&text), out, style)?;
        by_experiment(process, &one.place, out, style)?;
    }
    more(others.len().saturating_sub(FINDINGS), "cause", out, style)?;
    if let Some(open) = others.iter().find_map(|one| one.open_question.as_ref()) {
        let text = format!("What do the sections touch? Run `{}` to find out.", open.command);
        paragraph("     ?  ", &printable(&text), out, style)?;
    }
    if !idle.is_empty() {
        let (title, remark) = match process.state.is_own_end() {
            true => ("NOTHING TO DO", "these waits do not delay the run"),
            false => ("WAITS", "for something to do; or, if the run hung, for what never came"),
        };
        heading(title, remark, out, style)?;
    }
    for one in idle.iter().take(IDLE) {
        let place = place(process, one);
        let text = format!("{}, at {place}", one.what);
        let room = style.width() - 10;
        writeln!(out, "  {:>6}  {}", percent(one.share), shorten(&printable(&text), room))?;
    }
    more(idle.len().saturating_sub(IDLE), "site", out, style)
}

/// The text for a call site. A system call that was only sampled has no site, only a text.
fn place(process: &Process, remaining: &Remaining) -> String {
    match remaining.sites.first() {
        Some(&site) => name::site(process, &process.sites[site]),
        None => remaining.place.clone(),
    }
}

fn write_finding(
    number: usize,
    process: &Process,
    (place_in_list, finding): (usize, &Finding),
    out: &mut impl Write,
    style: &Style,
) -> io::Result<()> {
    let gain = gain(finding);
    let title = printable(&finding.title);
    let room = style.width().saturating_sub(5 + gain.chars().count() + 2);
    let gap = room.checked_sub(title.chars().count());
    let (title, gain) = (Paint::Bold.on(&title, style), Paint::Yellow.on(&gain, style));
    match gap {
        Some(gap) => writeln!(out, "  {number}. {title}{}  {gain}", " ".repeat(gap))?,
        None => {
            paragraph(&format!("  {number}. "), &title, out, style)?;
            writeln!(out, "     {gain}")?;
        }
    }
    let place = place::fitting(&printable(&finding.place), style.width() - 5);
    writeln!(out, "     {place}")?;
    let evidence: Vec<String> = finding.evidence.iter().take(EVIDENCE).map(evidence).collect();
    if !evidence.is_empty() {
        paragraph("     ", &printable(&evidence.join("; ")), out, style)?;
    }
    if let Some(seen) = process::seen(process, place_in_list) {
        writeln!(out, "     {seen}")?;
    }
    paragraph("     -> ", &printable(&finding.advice), out, style)?;
    if let Some(open) = &finding.open_question {
        let text = format!("{} Run `{}` to find out.", open.question, open.command);
        paragraph("     ?  ", &printable(&text), out, style)?;
    }
    by_experiment(process, &finding.place, out, style)
}

/// Writes the results of slowing a call site down.
fn by_experiment(
    process: &Process,
    place: &str,
    out: &mut impl Write,
    style: &Style,
) -> io::Result<()> {
    for experiment in process.whatif(place) {
        let text = printable(&whatif::sentence(experiment));
        paragraph("     whatif: ", &text, out, style)?;
    }
    Ok(())
}

/// The predicted gain of a finding's fix, as text.
fn gain(finding: &Finding) -> String {
    match finding.gain {
        None => "not predicted".to_owned(),
        Some(gain) if gain.share < process::LEAST_GAIN => "saves little".to_owned(),
        Some(gain) => format!("saves {} ({})", percent(gain.share), duration(gain.seconds)),
    }
}

/// A number with its description: `contention: 45.8 %`.
fn evidence(evidence: &Evidence) -> String {
    let value = evidence.value;
    let number = match evidence.unit {
        Unit::Count => count(value.max(0.0) as u64),
        Unit::PerSecond => format!("{}/s", rate(value)),
        Unit::Seconds => duration(value),
        Unit::Share => percent(value),
        Unit::Times => format!("{value:.1} times"),
    };
    format!("{}: {number}", evidence.what)
}
