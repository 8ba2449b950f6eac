//! The report as one HTML page, which needs no other file and no network.
//!
//! The page is complete as it is written; the script only sorts and searches the tables.
//! A process is a list of [`Section`]s: a new view is one more line there.

mod charts;
mod escape;
mod table;
mod tables;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use crate::Analysis;
use crate::model::{Bucket, Histogram, Note, Process};
use crate::options::Thresholds;
use crate::report::number::{count, duration, percent};
use crate::report::words;
use escape::Escaped;

const CSS: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A part of a process's report: its title, what it says, and its content.
type Section = (&'static str, &'static str, fn(&Process, &Thresholds) -> String);

const SECTIONS: [Section; 6] = [
    (
        "Locks",
        "Most time waited first; locks, then futexes, then events. Open a row for its places \
         and holders. Time held is an estimate from a sample.",
        |process, _| tables::locks(process),
    ),
    (
        "Call sites",
        "Added up over all locks and threads. Open a row for the stacks.",
        |process, _| tables::sites(process),
    ),
    ("Who blocks whom", "Who waited, and where the holder had acquired the lock.", |process, _| {
        tables::blocking(process)
    }),
    (
        "Quadrants",
        "A dot is a lock; the larger, the more time was waited for it. Q1 and Q2 are \
         contended; Q4 costs by the mere number of acquisitions.",
        charts::quadrants,
    ),
    (
        "Waits by length",
        "Waits for locks. Each bar stands for twice the time of the one before; the height is \
         logarithmic.",
        |process, _| charts::histogram(&all_waits(process), "Waits for locks by length"),
    ),
    ("Threads", "Most time lost waiting for locks first.", |process, _| tables::threads(process)),
];

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn html(analysis: &Analysis, out: &mut impl Write) -> io::Result<()> {
    let title = analysis.processes.first().map_or_else(String::new, words::command);
    writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Syncline: {}</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n<main>",
        Escaped(&title)
    )?;
    for (number, shown) in analysis.processes.iter().enumerate() {
        out.write_all(process(shown, number, &analysis.thresholds).as_bytes())?;
    }
    out.write_all(notes(&analysis.notes).as_bytes())?;
    writeln!(out, "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>")
}

/// A process: the first is open, the others are folded.
fn process(process: &Process, number: usize, thresholds: &Thresholds) -> String {
    let open = if number == 0 { " open" } else { "" };
    let mut html = format!(
        "<details class=\"process\"{open}>\n<summary><h1>{}</h1><p>pid {}, {}, ran {}, {}; {} lost \
         waiting for locks</p></summary>\n",
        Escaped(&words::command(process)),
        process.pid,
        words::threads(process),
        duration(process.seconds),
        words::state(process),
        duration(process.waiting.locks)
    );
    html += &cards(process);
    html += &notes(&process.notes);
    html += "<nav aria-label=\"Sections\">";
    for (title, _, _) in SECTIONS {
        let _ = write!(html, "<a href=\"#{}\">{title}</a>", id(number, title));
    }
    html += "</nav>\n";
    for (title, remark, content) in SECTIONS {
        let content = content(process, thresholds);
        let content = match content.is_empty() {
            true => "<p class=\"empty\">There were none.</p>".to_owned(),
            false => content,
        };
        let id = id(number, title);
        let _ = write!(
            html,
            "<section id=\"{id}\">\n<h2>{title}</h2>\n<p class=\"remark\">{remark}</p>\n{content}\n\
             </section>\n"
        );
    }
    html + "</details>\n"
}

fn id(number: usize, title: &str) -> String {
    format!("p{number}-{}", title.to_lowercase().replace(' ', "-"))
}

/// The figures that matter most.
fn cards(process: &Process) -> String {
    let share = process.lock_share.clamp(0.0, 1.0) * 100.0;
    let mut html = format!(
        "<div class=\"cards\"><div class=\"card lost\"><b>{}</b><span>lost waiting for locks</span>\
         <div class=\"meter\"><i style=\"width:{share:.1}%\"></i></div><span>{} of its \
         threads’ {}</span></div>",
        duration(process.waiting.locks),
        percent(process.lock_share),
        duration(process.thread_seconds)
    );
    let mut card = |value: String, what: &str| {
        let _ = write!(html, "<div class=\"card\"><b>{value}</b><span>{what}</span></div>");
    };
    if process.waiting.futexes > 0.0 {
        card(duration(process.waiting.futexes), "waiting in futexes, which may be locks");
    }
    card(duration(process.waiting.events), "waiting for events, which may be idle");
    let quadrants = &process.lock_quadrants;
    card(count((quadrants.q1 + quadrants.q2) as u64), "contended locks (Q1, Q2)");
    card(count(quadrants.q4 as u64), "busy locks without contention (Q4)");
    card(count(quadrants.q3 as u64), "quiet locks (Q3)");
    html + "</div>\n"
}

fn notes(notes: &[Note]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let items = notes.iter().map(|note| format!("<li>{}</li>", Escaped(&note.to_string())));
    let items: String = items.collect();
    format!("<aside><h2>What could not be seen</h2><ul>{items}</ul></aside>\n")
}

/// The waits for all locks.
fn all_waits(process: &Process) -> Histogram {
    let mut buckets: BTreeMap<u64, Bucket> = BTreeMap::new();
    for bucket in process.only_locks().flat_map(|lock| &lock.figures.histogram.buckets) {
        // The bits of numbers that are not negative are in the order of the numbers.
        let sum = buckets.entry(bucket.from.to_bits()).or_insert(Bucket { waits: 0, ..*bucket });
        sum.waits = sum.waits.saturating_add(bucket.waits);
    }
    Histogram { buckets: buckets.into_values().collect() }
}
