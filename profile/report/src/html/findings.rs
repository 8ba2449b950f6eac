//! The findings: what is wrong, why, what to do, and what the fix would save.

use std::fmt::Write;

use super::excerpt::excerpt;
use super::stacks;
use crate::path;
use crate::process;
use crate::whatif;
use syncline_analysis::model::{
    Blocking, Category, Evidence, Finding, Gain, Method, OpenQuestion, Process, Unit,
};
use syncline_analysis::name;
use syncline_present::page::Escaped;
use syncline_present::page::number::{count, counted, duration, percent, rate};

/// The most findings that are written; a program with more has other problems.
const FINDINGS: usize = 100;

/// The most sites, and the most holders, of a finding whose stacks are shown.
const STACKS: usize = 3;

/// The section about findings. All ids of the process begin with `id`.
pub fn section(process: &Process, id: &str) -> String {
    let mut html = String::new();
    for stuck in &process.stuck {
        let (title, remark) = stuck.trap.in_words();
        let (remark, why) = (Escaped(remark), Escaped(&stuck.why));
        let _ = writeln!(html, "<p class=\"stuck\"><b>{title}</b>, {remark}: {why}</p>");
    }
    if let Some(runs) = &process.runs {
        let _ = writeln!(html, "<p class=\"runs\">{}</p>", process::runs(runs));
    }
    if process.findings.is_empty() {
        html += "<p class=\"empty\">No rule sees a problem that is worth its fix.</p>\n";
        return html + &in_other_runs(process);
    }
    html += "<ol class=\"findings\">\n";
    for (number, finding) in process.findings.iter().take(FINDINGS).enumerate() {
        html += &finding_item(process, number, finding, id);
    }
    html += "</ol>\n";
    if let Some(more @ 1..) = process.findings.len().checked_sub(FINDINGS) {
        let more = counted(more, "more finding");
        let _ = writeln!(html, "<p class=\"empty\">The JSON report has {more}.</p>");
    }
    html + &in_other_runs(process)
}

/// The findings that only other runs have; empty if there are none.
fn in_other_runs(process: &Process) -> String {
    let mut html = String::new();
    for (seen, of) in process.in_other_runs().take(FINDINGS) {
        let _ = writeln!(
            html,
            "<li><b>{} of {of}</b> {}, at {}</li>",
            seen.runs,
            Escaped(&seen.title),
            Escaped(&seen.place)
        );
    }
    match html.is_empty() {
        true => html,
        false => format!("<h3>In other runs only</h3><ul class=\"remaining\">\n{html}</ul>\n"),
    }
}

/// The section about the critical path.
pub fn path(process: &Process) -> String {
    let lines = path::lines(process);
    if lines.is_empty() {
        return "<p class=\"empty\">The critical path is unknown: the process had one thread, or \
                did not exit by itself.</p>"
            .to_owned();
    }
    let mut html = String::from("<ul class=\"remaining\">\n");
    for (share, what, details) in lines {
        let details = Escaped(&details);
        let _ = writeln!(html, "<li><b>{share}</b> <span>{what}</span>: {details}</li>");
    }
    html += "</ul>\n";
    for remark in path::remarks(process) {
        let _ = writeln!(html, "<p>{}</p>", Escaped(&remark));
    }
    html
}

/// The section about locks and events that take time and that no finding explains. The ids of call
/// sites' rows begin with `rows`.
pub fn remaining(process: &Process, rows: &str) -> String {
    if process.remaining.is_empty() {
        return "<p class=\"empty\">None: the waits that no finding explains take less time.</p>"
            .to_owned();
    }
    let mut html = String::from("<ul class=\"remaining\">\n");
    for one in process.remaining.iter().take(FINDINGS) {
        let place = Escaped(&one.place);
        // A system call that was only sampled has no row.
        let place = match one.sites.first() {
            Some(site) => format!("<a href=\"#{rows}{site}\">{place}</a>"),
            None => place.to_string(),
        };
        let _ = writeln!(
            html,
            "<li><b>{}</b> <span>{}</span>, at {place}. {}</li>",
            percent(one.share),
            Escaped(&one.what),
            Escaped(&one.why)
        );
    }
    html + "</ul>\n"
}

fn finding_item(process: &Process, at: usize, finding: &Finding, of_process: &str) -> String {
    let id = format!("{of_process}-finding-{at}");
    let mut html = format!(
        "<li><article class=\"finding\" id=\"{id}\" aria-labelledby=\"{id}-title\">\n\
         <header><div><p class=\"category\">{}</p><h3 id=\"{id}-title\">{}</h3>\
         <p class=\"place\">{}</p></div>{}</header>\n",
        category(finding.rule.about().category),
        Escaped(&finding.title),
        Escaped(&finding.place),
        gain(finding.gain)
    );
    if let Some(seen) = process::seen(process, at) {
        let _ = writeln!(html, "<p class=\"seen\">{seen}</p>");
    }
    if !finding.evidence.is_empty() {
        html += "<dl class=\"evidence\">";
        for evidence in &finding.evidence {
            let (what, value) = (Escaped(&evidence.what), number(evidence));
            let _ = write!(html, "<div><dt>{what}</dt><dd>{value}</dd></div>");
        }
        html += "</dl>\n";
    }
    let _ = writeln!(html, "<p class=\"advice\">{}</p>", Escaped(&finding.advice));
    if let Some(open) = &finding.open_question {
        html += &question(open);
    }
    for experiment in process.whatif(&finding.place) {
        let text = whatif::sentence(experiment);
        let _ = writeln!(html, "<p class=\"advice\">By experiment: {}</p>", Escaped(&text));
    }
    let frame = finding.sites.first().and_then(|&site| process.sites.get(site)?.frame);
    if let Some(frame) = frame.and_then(|frame| process.frames.get(frame)) {
        html += &excerpt(process, frame);
    }
    html += &waiter_and_holder_stacks(process, finding, &format!("{of_process}-site-"));
    html + "</article></li>\n"
}

/// The predicted gain of a finding's fix.
fn gain(gain: Option<Gain>) -> String {
    let Some(gain) = gain else {
        return "<p class=\"gain little\">not predicted</p>".to_owned();
    };
    if gain.share < process::LEAST_GAIN {
        return "<p class=\"gain little\">saves little</p>".to_owned();
    }
    let how = match gain.method {
        Method::Replay => "predicted by replaying the recorded waits",
        Method::Assignment => "predicted by dividing the work among the threads",
        Method::Processors => "predicted from the processor time that is not needed",
    };
    format!(
        "<p class=\"gain\"><b>{}</b> of the run time, {}<small>{how}</small></p>",
        percent(gain.share),
        duration(gain.seconds)
    )
}

fn number(evidence: &Evidence) -> String {
    let value = evidence.value;
    match evidence.unit {
        Unit::Count => count(value.max(0.0) as u64),
        Unit::PerSecond => format!("{}/s", rate(value)),
        Unit::Seconds => duration(value),
        Unit::Share => percent(value),
        Unit::Times => format!("{value:.1}\u{202f}×"),
    }
}

fn question(open: &OpenQuestion) -> String {
    format!(
        "<div class=\"question\"><p>{}</p><p class=\"command\"><code>{}</code> <button \
         type=\"button\" class=\"copy\">Copy</button></p></div>\n",
        Escaped(&open.question),
        Escaped(&open.command.to_string())
    )
}

/// The stacks of the waiters and of the holders, folded; empty if none is known.
fn waiter_and_holder_stacks(process: &Process, finding: &Finding, rows: &str) -> String {
    let mut html = String::new();
    for &number in finding.sites.iter().take(STACKS) {
        let Some(site) = process.sites.get(number) else { continue };
        let Some(&stack) = site.stacks.first() else { continue };
        let _ = write!(
            html,
            "<h4>{} at <a href=\"#{rows}{number}\">{}</a></h4>{}",
            site.op.label(),
            Escaped(&name::site(process, site)),
            stacks::list(process, stack)
        );
    }
    let blocks = |pair: &&Blocking| finding.sites.contains(&pair.waiter);
    for pair in process.blocking.iter().filter(blocks).take(STACKS) {
        let waiter = name::site(process, &process.sites[pair.waiter]);
        let _ = write!(
            html,
            "<h4>Where the lock had been acquired when {} waited {} at {}</h4>{}",
            counted(pair.waits as usize, "call"),
            duration(pair.waited),
            Escaped(&waiter),
            stacks::list(process, pair.holder_stack)
        );
    }
    if html.is_empty() {
        return html;
    }
    format!(
        "<details class=\"who\"><summary>Call stacks of the waiting threads, and of the threads \
         that held the lock</summary>{html}</details>\n"
    )
}

/// The title of a category.
fn category(category: Category) -> &'static str {
    match category {
        Category::ImproperPrimitive => "improper primitive",
        Category::ImproperGranularity => "improper granularity",
        Category::OverSynchronization => "over-synchronization",
        Category::AsymmetricContention => "asymmetric contention",
        Category::LoadImbalance => "load imbalance",
        Category::BlockedHolder => "blocked holder",
        Category::WastedWakeUps => "wasted wake-ups",
        Category::FalseSharing => "false sharing",
        Category::LockOrder => "lock order",
    }
}
