//! Tables that can be sorted and searched. They are complete without the script: it only
//! moves rows.

use std::fmt::{Display, Write};

use super::escape::Escaped;

/// A column.
pub struct Column {
    /// Its title.
    pub title: &'static str,
    /// What it means, shown on demand.
    pub help: &'static str,
    /// Whether it holds numbers, which are aligned to the right.
    pub number: bool,
}

/// A column of numbers.
pub const fn number(title: &'static str, help: &'static str) -> Column {
    Column { title, help, number: true }
}

/// A column of text.
pub const fn text(title: &'static str, help: &'static str) -> Column {
    Column { title, help, number: false }
}

/// A table in the making.
pub struct Table {
    html: String,
    rows: usize,
}

impl Table {
    /// A table with these columns, whose rows come sorted by the column `sorted`, the
    /// largest first.
    pub fn new(caption: &str, columns: &[Column], sorted: Option<usize>) -> Table {
        let mut html = format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\n\
             <table data-sortable>\n<caption class=\"hidden\">{0}</caption>\n<thead><tr>",
            Escaped(caption)
        );
        for (place, column) in columns.iter().enumerate() {
            let class = if column.number { " class=\"n\"" } else { "" };
            let order = if sorted == Some(place) { " aria-sort=\"descending\"" } else { "" };
            let _ = write!(
                html,
                "<th scope=\"col\"{class}{order} title=\"{}\"><button type=\"button\">{}</button></th>",
                Escaped(column.help),
                Escaped(column.title)
            );
        }
        html += "</tr></thead>\n<tbody>\n";
        Table { html, rows: 0 }
    }

    /// Starts a row.
    pub fn row(&mut self) {
        if self.rows > 0 {
            self.html += "</tr>\n";
        }
        self.rows += 1;
        self.html += "<tr>";
    }

    /// A cell with a number: how it is shown, and what it is sorted by.
    pub fn number(&mut self, shown: impl Display, value: f64) {
        let dim = if value == 0.0 { " zero" } else { "" };
        let _ = write!(self.html, "<td class=\"n{dim}\" data-v=\"{value:e}\">{shown}</td>");
    }

    /// A cell with text.
    pub fn text(&mut self, text: &str) {
        let _ = write!(self.html, "<td>{}</td>", Escaped(text));
    }

    /// A cell with a few words that stay in one line.
    pub fn words(&mut self, text: &str) {
        let _ = write!(self.html, "<td class=\"w\">{}</td>", Escaped(text));
    }

    /// A cell with HTML, and what it is sorted by.
    pub fn html(&mut self, html: &str, value: &str) {
        let _ = write!(self.html, "<td data-v=\"{}\">{html}</td>", Escaped(value));
    }

    /// The whole table; a remark instead, if it has no rows.
    pub fn finish(mut self, empty: &str) -> String {
        if self.rows == 0 {
            return format!("<p class=\"empty\">{}</p>\n", Escaped(empty));
        }
        self.html += "</tr>\n</tbody></table></div>\n";
        self.html
    }
}
