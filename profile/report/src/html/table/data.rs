//! Rows as data, from which the script makes elements when they come into view.

use std::collections::HashMap;
use std::fmt::Write;

use super::cell::{Cell, Row};
use syncline_present::page::Json;
use syncline_present::page::number::compact;

/// Rows as JSON. Each row is a list of numbers: first the cells, then the lines of the row's brief.
/// A text is given by its index in a list of texts.
pub fn data(rows: impl Iterator<Item = Row>) -> String {
    let mut texts: HashMap<String, usize> = HashMap::new();
    let mut list = String::new();
    let mut data = String::new();
    for row in rows {
        let mut place = |text: &str| match texts.get(text) {
            Some(&place) => place,
            None => {
                let comma = if texts.is_empty() { "" } else { "," };
                let _ = write!(list, "{comma}{}", Json(text));
                texts.insert(text.to_owned(), texts.len());
                texts.len() - 1
            }
        };
        let cells = row.cells.iter().map(|cell| match cell {
            Cell::Text(text) => place(text).to_string(),
            Cell::Number(value) => compact(*value),
            Cell::Unknown => "-1".to_owned(),
        });
        let mut values: Vec<String> = cells.collect();
        values.extend(row.brief.iter().map(|line| place(line).to_string()));
        let comma = if data.is_empty() { "" } else { ",\n" };
        let _ = write!(data, "{comma}[{}]", values.join(","));
    }
    format!(
        "<script type=\"application/json\">{{\"texts\":[{list}],\"rows\":[\n{data}]}}</script>\n"
    )
}
