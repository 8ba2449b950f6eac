//! The table of call sites.

use super::figures::{FIGURES, figures};
use crate::html::stacks;
use crate::html::table::{Cell, Column, Format, Row, Table, text};
use syncline_analysis::model::{Process, Section, Site};
use syncline_analysis::name;
use syncline_present::page::number::counted;

const NAMES: [Column; 3] = [
    ("place", "the innermost frame that is not a library's lock wrapper", Format::Text),
    ("operation", "what is done there", Format::Words),
    ("locks", "locks that were used there", Format::Count),
];

/// The most call stacks that an opened row shows.
const STACKS: usize = 3;

/// The table of a process's call sites. Its rows have ids that begin with `id`.
pub fn sites(process: &Process, id: String) -> String {
    let columns: Vec<Column> = NAMES.into_iter().chain(FIGURES).collect();
    let table =
        Table { caption: "Call sites", one: "call site", id, columns: &columns, sorted: None };
    table.html(process.sites.len(), |place, is_html| {
        let site = &process.sites[place];
        let names = [
            text(name::site(process, site)),
            text(site.op.label()),
            Cell::Number(site.locks as f64),
        ];
        Row {
            cells: names.into_iter().chain(figures(&site.figures, site.quadrant)).collect(),
            details: if is_html { details(process, site) } else { String::new() },
            brief: if is_html { Vec::new() } else { vec![site.place.clone()] },
        }
    })
}

fn details(process: &Process, site: &Site) -> String {
    let section = site.section.as_ref().map_or_else(String::new, section);
    let shown = site.stacks.iter().take(STACKS);
    let html: String =
        section + &shown.map(|&stack| stacks::list(process, stack)).collect::<String>();
    match site.stacks.len().saturating_sub(STACKS) {
        0 => html,
        1 => html + "<p>and one more way to get here</p>",
        more => format!("{html}<p>and {more} more stacks that lead here</p>"),
    }
}

/// A sentence about what the instructions of a critical section do.
fn section(section: &Section) -> String {
    let how = if section.complete { "" } else { ", as far as it could be followed" };
    let loops = if section.loops { " with a loop" } else { "" };
    format!(
        "<p>critical section{how}: {}{loops}; {}, {}, {} of memory that others can reach</p>",
        counted(section.instructions, "instruction"),
        counted(section.reads, "read"),
        counted(section.writes, "write"),
        counted(section.atomics, "atomic operation")
    )
}
