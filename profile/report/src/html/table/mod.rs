//! Tables that can be sorted and searched.
//!
//! The first rows are HTML, so that they are visible without the script and on paper. A program may
//! have many thousand locks, so the other rows are data: the script makes a row from the data when
//! the row comes into view. Both kinds of rows are made from the same [`Cell`]s.

mod cell;
mod data;

use std::fmt::Write;

pub use cell::{Cell, Row, text};

use syncline_present::page::Escaped;
use syncline_present::page::number::{compact, count, counted, duration, grouped, percent, rate};

/// How many rows are written as HTML.
pub const ROWS: usize = 100;

/// The kind of a column's values, which decides how they are written and sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text.
    Text,
    /// A few words that stay in one line.
    Words,
    /// SyncPerf's quadrant.
    Quadrant,
    /// Seconds.
    Duration,
    /// A number of things.
    Count,
    /// A number of things in a second.
    Rate,
    /// A share from 0 to 1.
    Percent,
}

impl Format {
    fn is_number(self) -> bool {
        !matches!(self, Format::Text | Format::Words | Format::Quadrant)
    }

    /// The format's name in the script.
    fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Words => "words",
            Format::Quadrant => "quadrant",
            Format::Duration => "duration",
            Format::Count => "count",
            Format::Rate => "rate",
            Format::Percent => "percent",
        }
    }

    fn number(self, value: f64) -> String {
        match self {
            Format::Duration => duration(value),
            Format::Rate => rate(value),
            Format::Percent => percent(value),
            _ => count(value as u64),
        }
    }
}

/// A column: its title, its meaning, and the kind of its values.
pub type Column = (&'static str, &'static str, Format);

/// A table.
pub struct Table<'a> {
    /// A caption that says what the table lists.
    pub caption: &'a str,
    /// A noun for a row of the table, in the singular.
    pub one: &'a str,
    /// The beginning of the rows' ids; the row's number follows it.
    pub id: String,
    /// The columns. The first column has text; a click on it opens the row.
    pub columns: &'a [Column],
    /// The column by which the rows are sorted, largest first.
    pub sorted: Option<usize>,
}

impl Table<'_> {
    /// The HTML of the table. `row` makes a row from the row's number. The second argument of `row`
    /// says whether the row will be HTML, not data; so `row` may leave out what only the other kind
    /// needs.
    pub fn html(&self, rows: usize, row: impl Fn(usize, bool) -> Row) -> String {
        if rows == 0 {
            return format!("<p class=\"empty\">There is no {}.</p>\n", self.one);
        }
        let mut html = self.head(rows);
        for number in 0..rows.min(ROWS) {
            self.row(&mut html, number, &row(number, true));
        }
        html += "</tbody></table></div>\n";
        if rows > ROWS {
            let _ = write!(
                html,
                "<p class=\"rest\">The first {ROWS} of {}.</p>\n\
                 <p class=\"more\"><button type=\"button\" data-more=\"1000\">Show 1\u{202f}000 more</button> \
                 <button type=\"button\" data-more=\"all\">Show all {}</button></p>\n",
                counted(rows, self.one),
                grouped(rows as u64)
            );
            html += &data::data((ROWS..rows).map(|number| row(number, false)));
        }
        html + "</div>\n"
    }

    fn head(&self, rows: usize) -> String {
        let caption = Escaped(self.caption);
        let mut html = format!(
            "<div class=\"table\" data-id=\"{}\">\n<p class=\"search\"><label>Filter <input \
             type=\"search\" autocomplete=\"off\" spellcheck=\"false\"></label> \
             <output>{}</output></p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" \
             aria-label=\"{caption}\">\n<table>\n<caption class=\"hidden\">{caption}</caption>\n\
             <thead><tr>",
            self.id,
            counted(rows, self.one)
        );
        for (place, &(title, help, format)) in self.columns.iter().enumerate() {
            let class = if format.is_number() { " class=\"n\"" } else { "" };
            let order = if self.sorted == Some(place) { " aria-sort=\"descending\"" } else { "" };
            let _ = write!(
                html,
                "<th scope=\"col\"{class}{order} data-f=\"{}\" title=\"{}\"><button type=\"button\">{}\
                 </button></th>",
                format.name(),
                Escaped(help),
                Escaped(title)
            );
        }
        html + "</tr></thead>\n<tbody>\n"
    }

    fn row(&self, html: &mut String, number: usize, row: &Row) {
        let _ = write!(html, "<tr id=\"{}{number}\">", self.id);
        for (place, (cell, &(_, _, format))) in row.cells.iter().zip(self.columns).enumerate() {
            let _ = match cell {
                Cell::Text(text) if place == 0 && !row.details.is_empty() => write!(
                    html,
                    "<td data-v=\"{0}\"><details><summary>{0}</summary><div>{1}</div></details></td>",
                    Escaped(text),
                    row.details
                ),
                Cell::Text(text) => match format {
                    Format::Words => write!(html, "<td class=\"w\">{}</td>", Escaped(text)),
                    Format::Quadrant => write!(html, "<td class=\"q {0}\">{0}</td>", Escaped(text)),
                    _ => write!(html, "<td>{}</td>", Escaped(text)),
                },
                Cell::Number(value) => {
                    let zero = if *value == 0.0 { " zero" } else { "" };
                    let (value, shown) = (compact(*value), format.number(*value));
                    write!(html, "<td class=\"n{zero}\" data-v=\"{value}\">{}</td>", shown)
                }
                Cell::Unknown => write!(html, "<td class=\"n zero\" data-v=\"-1\">–</td>"),
            };
        }
        html.push_str("</tr>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 2] =
        [("lock", "its name", Format::Text), ("waited", "time", Format::Duration)];

    fn table() -> Table<'static> {
        Table { caption: "Locks", one: "lock", id: "l".into(), columns: &COLUMNS, sorted: Some(1) }
    }

    fn row(number: usize, is_html: bool) -> Row {
        let name = format!("</script>{}", number % 2);
        let details = if is_html { "<p>more</p>".to_owned() } else { String::new() };
        let brief = if is_html { vec![] } else { vec![format!("</script>{}", number % 2)] };
        Row { cells: vec![text(name), Cell::Number(number as f64)], details, brief }
    }

    #[test]
    fn further_rows_are_json_with_each_text_once() {
        let html = table().html(ROWS + 3, row);
        assert_eq!(html.matches("<tr id=").count(), ROWS);
        let (_, data) = html.split_once("<script type=\"application/json\">").unwrap();
        let (data, after) = data.split_once("</script>").unwrap();
        assert!(!after.contains("</script>"));
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["texts"], serde_json::json!(["</script>0", "</script>1"]));
        assert_eq!(data["rows"], serde_json::json!([[0, 100, 0], [1, 101, 1], [0, 102, 0]]));
    }

    #[test]
    fn a_small_table_has_no_data_and_an_empty_one_says_so() {
        let html = table().html(2, row);
        assert!(!html.contains("<script") && html.contains("2 locks"));
        assert!(table().html(0, row).contains("There is no lock."));
    }
}
