//! Writes the report as a page: one file that needs no network and no scripts.

use std::fmt::Write as _;
use std::io::{self, Write};

use syncline_present::page::{Escaped, Page};

use super::heat_map::heat_map;
use super::number::{self, cycles, heading, spread};
use super::shape::shape;
use crate::case::{ACCESSES, Access, STATES, State, state_name};
use crate::measurement::Measurement;
use syncline_statistics::Summary;

const STYLE: &str = include_str!("page.css");

/// Writes the report as a page.
///
/// # Errors
/// If writing to `out` fails.
pub fn html(measurement: &Measurement, out: &mut impl Write) -> io::Result<()> {
    let title = &measurement.subject.title;
    let page = Page { title, content: ("local", "latencies"), style: STYLE, script: "" };
    page.begin(out)?;
    writeln!(out, "<h1>{}</h1>", Escaped(title))?;
    writeln!(out, "<p class=\"remark\">{}</p>", Escaped(&shape(&measurement.subject)))?;
    out.write_all(cards(measurement).as_bytes())?;
    out.write_all(notes(measurement).as_bytes())?;
    out.write_all(local(measurement).as_bytes())?;
    for distance in 0..measurement.distances.len() {
        out.write_all(remote(measurement, distance).as_bytes())?;
    }
    out.write_all(sharers(measurement).as_bytes())?;
    out.write_all(matrix(measurement).as_bytes())?;
    page.end(out)
}

fn cards(measurement: &Measurement) -> String {
    let subject = &measurement.subject;
    let mut html = String::from("<div class=\"cards\">");
    let mut card = |what: &str, value: String| {
        let _ = write!(html, "<div class=\"card\"><span>{what}</span><b>{value}</b></div>");
    };
    card("hardware threads", subject.processors.len().to_string());
    card("processor", format!("{:.2} GHz", subject.hertz / 1e9));
    card("clock", format!("{:.4} GHz", subject.ticks_per_second / 1e9));
    card("topology by", subject.topology.to_owned());
    html + "</div>\n"
}

fn notes(measurement: &Measurement) -> String {
    if measurement.notes.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<section class=\"notes\" aria-labelledby=\"notes\"><h2 id=\"notes\">What to know</h2>\n<ul>",
    );
    for note in &measurement.notes {
        let _ = writeln!(html, "<li>{}</li>", Escaped(&note.to_string()));
    }
    html + "</ul></section>\n"
}

fn section(id: &str, title: &str, remark: &str, content: &str) -> String {
    let (title, remark) = (Escaped(title), Escaped(remark));
    format!(
        "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n\
         <p class=\"remark\">{remark}</p>\n{content}</section>\n"
    )
}

/// A table with a column for each operation. Each row has a name, and a cell for each operation.
fn table<'m>(
    measurement: &Measurement,
    rows: impl IntoIterator<Item = (String, [Option<&'m Summary>; ACCESSES.len()])>,
) -> String {
    let mut html =
        String::from("<div class=\"scroll\"><table class=\"costs\"><thead><tr><th></th>");
    for access in ACCESSES {
        let _ = write!(html, "<th scope=\"col\" class=\"n\">{}</th>", heading(access));
    }
    html += "</tr></thead><tbody>\n";
    for (name, cells) in rows.into_iter().filter(|(_, cells)| cells.iter().any(Option::is_some)) {
        let _ = write!(html, "<tr><th scope=\"row\">{name}</th>");
        for cell in cells {
            match cell {
                Some(of) => {
                    let _ = write!(
                        html,
                        "<td class=\"n\" title=\"{} samples, {} far off\">{} <span>±{}</span>\
                         <small>{} ns</small></td>",
                        of.samples,
                        of.outliers,
                        cycles(of.median),
                        spread(of),
                        cycles(measurement.nanoseconds(of.median)),
                    );
                }
                None => html += "<td class=\"n zero\">-</td>",
            }
        }
        html += "</tr>\n";
    }
    html + "</tbody></table></div>\n"
}

fn local(measurement: &Measurement) -> String {
    let local = &measurement.local;
    let loads = [
        ("L2", local.l2.as_ref()),
        ("last level", local.llc.as_ref()),
        ("memory", Some(&local.memory)),
        ("memory, far pages", local.far_memory.as_ref()),
    ];
    let own = ("own line".to_owned(), ACCESSES.map(|access| measurement.own(access)));
    let loads = loads.map(|(name, load)| {
        (name.to_owned(), ACCESSES.map(|access| load.filter(|_| access == Access::Load)))
    });
    section(
        "local",
        "Accesses that need no other thread",
        "Cycles, ± half of the distance between the quartiles, and nanoseconds.",
        &table(measurement, std::iter::once(own).chain(loads)),
    )
}

fn remote(measurement: &Measurement, distance: usize) -> String {
    let about = &measurement.distances[distance];
    let mut rows = Vec::new();
    for state in STATES {
        let cell = |access| measurement.cell(access, state, distance);
        rows.push((state_name(state).to_owned(), ACCESSES.map(cell)));
        if state == State::Owned {
            let mine = |access| measurement.mine(access, distance);
            rows.push(("own, read by the other".to_owned(), ACCESSES.map(mine)));
        }
    }
    let (a, b) = about.example;
    let remark = format!(
        "Lines in a state that another hardware thread has brought them into. Pairs at this \
         distance: {}, such as processors {a} and {b}; measured: {}.",
        about.pairs, about.measured
    );
    let stays = measurement.stays.iter().find(|stays| stays.distance == distance);
    let stays = stays.map_or(String::new(), |of| format!(" {}", number::stays(&of.share)));
    let under_way = measurement.under_way.iter().find(|of| of.distance == distance);
    let under_way =
        under_way.map_or(String::new(), |of| format!(" {}", number::under_way(&of.loads)));
    let remark = remark + &stays + &under_way;
    section(&format!("d{distance}"), &about.name, &remark, &table(measurement, rows))
}

fn sharers(measurement: &Measurement) -> String {
    if measurement.sharers.is_empty() {
        return String::new();
    }
    let rows = measurement.sharers.chunk_by(|a, b| a.sharers == b.sharers).map(|group| {
        let cell = |access| group.iter().find(|s| s.access == access).map(|s| &s.cycles);
        (group[0].sharers.to_string(), ACCESSES.map(cell))
    });
    let remark = "By the number of other threads that share the line, which are the nearest ones.";
    section("sharers", "Lines that several share", remark, &table(measurement, rows))
}

fn matrix(measurement: &Measurement) -> String {
    let map = heat_map(measurement);
    if map.is_empty() {
        return map;
    }
    let remark = "Cycles of a load, by the processor of the row, of a line that the processor of the \
         column has changed.";
    section(
        "matrix",
        "From one to the other",
        remark,
        &format!("<div class=\"scroll map\">{map}</div>"),
    )
}
