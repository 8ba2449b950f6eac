//! The findings: what is wrong, why, what to do, and what that would bring.

use std::io::{self, Write};

use super::table::{Paint, printable, shorten};
use super::{Style, heading, more, paragraph};
use crate::model::{Evidence, Finding, Process, Unit};
use crate::report::number::{count, duration, percent, rate};

/// Findings that are shown: what fits one screen.
const FINDINGS: usize = 5;
/// Numbers that are shown of each.
const EVIDENCE: usize = 4;
/// A predicted gain below this is told as none to speak of.
const LEAST_GAIN: f64 = 0.005;

/// The findings, most to gain first.
pub fn findings(process: &Process, out: &mut impl Write, style: &Style) -> io::Result<()> {
    if process.findings.is_empty() {
        heading("FINDINGS", "none: no rule sees a problem that is worth its fix", out, style)?;
        return Ok(());
    }
    heading("FINDINGS", "most to gain first; gains are predicted", out, style)?;
    for (number, finding) in process.findings.iter().take(FINDINGS).enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        one(number + 1, finding, out, style)?;
    }
    more(process.findings.len().saturating_sub(FINDINGS), "finding", out, style)
}

fn one(number: usize, finding: &Finding, out: &mut impl Write, style: &Style) -> io::Result<()> {
    let gain = gain(finding);
    let room = style.width() - 5 - gain.chars().count() - 2;
    let title = shorten(&printable(&finding.title), room);
    let gap = room - title.chars().count() + 2;
    let title = Paint::Bold.on(&title, style);
    let gain = Paint::Yellow.on(&gain, style);
    writeln!(out, "{}", format!("  {number}. {title}{}{gain}", " ".repeat(gap)).trim_end())?;
    let place = shorten(&printable(&finding.place), style.width() - 5);
    writeln!(out, "     {place}")?;
    let evidence: Vec<String> = finding.evidence.iter().take(EVIDENCE).map(evidence).collect();
    if !evidence.is_empty() {
        paragraph("     ", &printable(&evidence.join(", ")), out, style)?;
    }
    paragraph("     -> ", &printable(&finding.advice), out, style)?;
    if let Some(open) = &finding.open_question {
        let text = format!("{} `{}` tells.", open.question, open.command);
        paragraph("     ?  ", &printable(&text), out, style)?;
    }
    Ok(())
}

/// What the fix would bring, in a few words; nothing if that can't be told.
fn gain(finding: &Finding) -> String {
    match finding.gain {
        None => String::new(),
        Some(gain) if gain.share < LEAST_GAIN => "saves little".to_owned(),
        Some(gain) => format!("saves {} ({})", percent(gain.share), duration(gain.seconds)),
    }
}

/// A number with what it is: `contention 45.8 %`.
fn evidence(evidence: &Evidence) -> String {
    let value = evidence.value;
    let number = match evidence.unit {
        Unit::Count => count(value.max(0.0) as u64),
        Unit::PerSecond => format!("{}/s", rate(value)),
        Unit::Seconds => duration(value),
        Unit::Share => percent(value),
        Unit::Times => format!("{value:.1} times"),
    };
    format!("{} {number}", evidence.what)
}
