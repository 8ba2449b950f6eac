//! A study as one HTML page, which needs no other file and no network. Each figure has its
//! sentence, its numbers as a table, and the paper's numbers next to ours.

mod chart;
mod scale;

use std::fmt::Write as _;
use std::io::{self, Write};

use syncline_present::page::{Escaped, Page};

use crate::claims::{self, Check, Part, Row};
use crate::figure::{Book, Figure, Kind, Panel};
use crate::figures::sentence::number;

const STYLE: &str = include_str!("study.css");

/// Writes the page from the measurements in `book`. `titles` has the titles of the machines, in
/// order.
///
/// # Errors
/// Same errors as writing to `out`.
pub fn write(book: &Book, titles: &[String], out: &mut impl Write) -> io::Result<()> {
    let title = "what synchronization costs";
    let page = Page { title, content: ("figures", "figures"), style: STYLE, script: "" };
    page.begin(out)?;
    let machines: Vec<String> = titles.iter().map(|title| Escaped(title).to_string()).collect();
    writeln!(
        out,
        "<h1>What synchronization costs</h1>\n<p class=\"remark\">SSYNC's study (SOSP 2013) on {}.</p>",
        machines.join("; ")
    )?;
    writeln!(out, "<nav id=\"figures\" aria-label=\"Figures\">")?;
    for figure in &book.figures {
        writeln!(out, "<a href=\"#{0}\">{1}</a>", figure.id, called(figure.id))?;
    }
    writeln!(out, "</nav>")?;
    for figure in &book.figures {
        out.write_all(section(book, figure).as_bytes())?;
    }
    page.end(out)
}

/// The text for a figure's id: "Figure 5" for `figure-5`, and "SCC, figure 5" for `scc-figure-5`,
/// Figure 5 of the paper on the SCC (MPI's passive target).
fn called(id: &str) -> String {
    match id.strip_prefix("scc-") {
        Some(id) => format!("SCC, {}", id.replace('-', " ")),
        None => capitalized(&id.replace('-', " ")),
    }
}

fn section(book: &Book, figure: &Figure) -> String {
    let mut html = format!(
        "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}: {2}</h2>\n\
         <p class=\"says\">{3}.</p>\n",
        figure.id,
        called(figure.id),
        Escaped(figure.title),
        Escaped(&capitalized(&figure.says))
    );
    if figure.kind != Kind::Table {
        html += &legend(figure);
        html += "<div class=\"panels\">";
        for panel in &figure.panels {
            let _ = write!(
                html,
                "<figure><figcaption>{}</figcaption>{}</figure>",
                Escaped(&panel.machine),
                chart::chart(figure, panel)
            );
        }
        html += "</div>\n";
    }
    html += &claimed(book, figure);
    for panel in &figure.panels {
        html += &numbers(figure, panel);
    }
    html + "</section>\n"
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The legend: the names of the series, from the panel with the most series. Other panels may lack
/// the last of these series.
fn legend(figure: &Figure) -> String {
    let longest = figure.panels.iter().max_by_key(|panel| panel.series.len());
    let mut html = String::from("<ul class=\"legend\">");
    for (number, series) in longest.iter().flat_map(|panel| &panel.series).enumerate() {
        let _ = write!(
            html,
            "<li><svg class=\"s{number}\" width=\"28\" height=\"12\" aria-hidden=\"true\">\
             <path class=\"line\" d=\"M0 6H28\"/><path class=\"mark\" d=\"{}\"/></svg> {}</li>",
            chart::mark(number, 14.0, 6.0),
            Escaped(&series.name)
        );
    }
    html + "</ul>\n"
}

/// The paper's claims about a figure, with our numbers next to the paper's.
fn claimed(book: &Book, figure: &Figure) -> String {
    let rows: Vec<(&Row, Vec<Part>)> = claims::outcomes(book)
        .into_iter()
        .filter(|(row, _)| matches!(row.check, Check::Figures(ids, _) if ids.contains(&figure.id)))
        .filter_map(|(row, parts)| Some((row, parts.filter(|parts| !parts.is_empty())?)))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>Claim</th><th>Part</th><th>Ours</th>\
         <th>Paper</th><th>Holds</th></tr></thead><tbody>",
    );
    for (row, parts) in rows {
        for part in parts {
            let (class, holds) = if part.holds { ("good", "yes") } else { ("hot", "no") };
            let _ = write!(
                html,
                "<tr><td><abbr title=\"{}\">{}</abbr></td><td>{}</td><td>{}</td><td>{}</td>\
                 <td class=\"{class}\">{holds}</td></tr>",
                Escaped(row.says),
                row.id,
                Escaped(&part.what),
                Escaped(&part.ours),
                Escaped(&part.paper)
            );
        }
    }
    html + "</tbody></table></div>\n"
}

/// The numbers of a panel as a table.
fn numbers(figure: &Figure, panel: &Panel) -> String {
    let open = if figure.kind == Kind::Table { " open" } else { "" };
    let longest =
        panel.series.iter().map(|series| &series.points).max_by_key(|points| points.len());
    let columns = longest.map_or(&[][..], |points| points);
    let mut html = format!(
        "<details{open}><summary>{}, {}</summary><div class=\"scroll\"><table><thead><tr><th></th>",
        Escaped(&panel.machine),
        Escaped(figure.y)
    );
    for column in columns {
        let label =
            if column.label.is_empty() { column.x.to_string() } else { column.label.clone() };
        let _ = write!(html, "<th class=\"n\">{}</th>", Escaped(&label));
    }
    html += "</tr></thead><tbody>";
    for series in &panel.series {
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", Escaped(&series.name));
        for column in columns {
            let value = series.value(column.x as usize).map_or_else(String::new, number);
            let _ = write!(html, "<td class=\"n\">{value}</td>");
        }
        html += "</tr>";
    }
    html + "</tbody></table></div></details>\n"
}
