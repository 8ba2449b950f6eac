//! The report as one HTML page, which needs no other file and no network.
//!
//! Nearly all of the page works without scripts. The scripts only sort and search tables, add the
//! later rows of long tables, open folded parts for links, copy commands, name the points of the
//! quadrants, and draw the timeline. The report of a process is a list of [`Section`]s; a new view
//! is one more entry of the list.
//!
//! Names come from programs and may have any content. All names are escaped when they are written
//! ([`syncline_present::page::Escaped`]), and the shell of the page ([`syncline_present`]) forbids
//! scripts and styles other than its own.

mod balance;
mod excerpt;
mod findings;
mod graph;
mod histogram;
mod quadrants;
mod stacks;
mod summary;
mod table;
mod tables;
mod timeline;

use std::fmt::Write as _;
use std::io::{self, Write};

use syncline_present::page::Page;

use crate::process;
use syncline_analysis::Analysis;
use syncline_analysis::Thresholds;
use syncline_analysis::model::Process;

const CSS: &str = concat!(
    include_str!("style/page.css"),
    include_str!("style/table.css"),
    include_str!("style/finding.css"),
    include_str!("style/picture.css"),
);

const SCRIPT: &str = concat!(
    "\"use strict\";\n",
    include_str!("script/number.js"),
    include_str!("script/table.js"),
    include_str!("script/quadrants.js"),
    include_str!("script/timeline.js"),
    include_str!("script/view.js"),
    include_str!("script/page.js"),
);

/// The most processes that are shown in full; each of the others has a line.
const PROCESSES: usize = 8;

/// A part of a process's report: its title, a remark on its meaning, and its content. Ids within
/// the content begin with the text that is passed to the function.
type Section = (&'static str, &'static str, fn(&Process, &Thresholds, &str) -> String);

const SECTIONS: [Section; 11] = [
    (
        "Findings",
        "What is wrong, most to gain first. Gains are predicted, each for its fix alone.",
        |process, _, id| findings::section(process, id),
    ),
    (
        "Critical path",
        "What the end of the run waited for, traced back to the start. Only a change that shortens \
         this path makes the run shorter.",
        |process, _, _| findings::path(process),
    ),
    (
        "What else takes time",
        "Waits that take at least 2 % of the time of all threads and that no finding explains. If \
         enough of the critical path is known, those with the largest part of it come first.",
        |process, _, id| findings::remaining(process, &format!("{id}-site-")),
    ),
    ("Timeline", "What each thread did, over the time of the run.", |process, _, id| {
        timeline::section(process, &format!("{id}-timeline-"))
    }),
    (
        "Locks",
        "Locks come first, then futexes, then events; in each kind, those with most time waited \
         come first. Open a row for its call sites and holders. Time held is an estimate from a \
         sample.",
        |process, _, id| tables::locks(process, format!("{id}-lock-")),
    ),
    (
        "Call sites",
        "Times and counts are sums over all locks and threads. Open a row for the stacks.",
        |process, _, id| tables::sites(process, format!("{id}-site-")),
    ),
    (
        "Who blocks whom",
        "An arrow goes from the call site that waited to the one where the holder had acquired \
         the lock; its width is \
         the time waited.",
        |process, _, id| {
            graph::section(process, &format!("{id}-site-"))
                + &tables::blocking(process, format!("{id}-pair-"))
        },
    ),
    (
        "Quadrants",
        "Contention over acquisitions, both on logarithmic axes. Q1 and Q2 are contended; Q4 \
         costs by the mere number of acquisitions.",
        |process, thresholds, _| quadrants::section(process, thresholds),
    ),
    (
        "Histograms",
        "Each bar stands for twice the time of the one before; the height is logarithmic.",
        |process, _, _| histogram::section(process),
    ),
    (
        "Balance",
        "What threads with the same start function, or created at the same call site, did with their time, the busiest thread first.",
        |process, _, _| balance::section(process),
    ),
    ("Threads", "Those that lost most time waiting for locks come first.", |process, _, id| {
        tables::threads(process, format!("{id}-thread-"))
    }),
];

/// Writes the page. The source files of findings' call sites are read, if they exist, to show the
/// lines around the call site.
///
/// # Errors
/// Same errors as writing to `out`.
pub fn html(analysis: &Analysis, out: &mut impl Write) -> io::Result<()> {
    let title = analysis.processes.first().map_or_else(String::new, process::command);
    let content = ("p0-findings", "findings");
    let page = Page { title: &title, content, style: CSS, script: SCRIPT };
    page.begin(out)?;
    if analysis.processes.is_empty() {
        writeln!(out, "<h1>Syncline</h1>\n<p class=\"empty\">Nothing was recorded.</p>")?;
    }
    for (number, shown) in analysis.processes.iter().take(PROCESSES).enumerate() {
        out.write_all(process(shown, number, &analysis.thresholds).as_bytes())?;
    }
    let others = analysis.processes.get(PROCESSES..).unwrap_or_default();
    out.write_all(summary::others(others).as_bytes())?;
    out.write_all(summary::notes(&analysis.notes, "").as_bytes())?;
    page.end(out)
}

/// The report of a process. The first process is open, the others are folded.
fn process(process: &Process, number: usize, thresholds: &Thresholds) -> String {
    let prefix = format!("p{number}");
    let id = |title: &str| format!("{prefix}-{}", title.to_lowercase().replace(' ', "-"));
    let open = if number == 0 { " open" } else { "" };
    let mut html = format!("<details class=\"process\"{open}>\n{}", summary::heading(process));
    html += &summary::cards(process);
    html += "<nav aria-label=\"Sections\">";
    for (title, _, _) in SECTIONS {
        let _ = write!(html, "<a href=\"#{}\">{title}</a>", id(title));
    }
    let notes = summary::notes(&process.notes, &id("notes"));
    if !notes.is_empty() {
        let _ = write!(html, "<a href=\"#{}\">What could not be seen</a>", id("notes"));
    }
    html += "</nav>\n";
    for (title, remark, content) in SECTIONS {
        let content = content(process, thresholds, &prefix);
        let id = id(title);
        let _ = write!(
            html,
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n\
             <p class=\"remark\">{remark}</p>\n{content}\n</section>\n"
        );
    }
    html + &notes + "</details>\n"
}
