//! The table "Who blocks whom".

use crate::html::table::{Cell, Column, Format, Row, Table, text};
use syncline_analysis::model::Process;
use syncline_analysis::name;

const COLUMNS: [Column; 5] = [
    ("who waited", "the call site that waited", Format::Text),
    ("for whom", "where the holder had acquired the lock", Format::Text),
    ("waited", "time of these waits", Format::Duration),
    ("waits", "how often", Format::Count),
    ("locks", "with how many locks", Format::Count),
];

/// The table of who blocked whom. Its rows have ids that begin with `id`.
pub fn blocking(process: &Process, id: String) -> String {
    let caption = "Who blocks whom";
    let table = Table { caption, one: "pair", id, columns: &COLUMNS, sorted: Some(2) };
    table.html(process.blocking.len(), |place, _| {
        let pair = &process.blocking[place];
        let holder = match pair.holder == Some(pair.waiter) {
            true => "another thread at the same call site".to_owned(),
            false => name::stack(process, pair.holder_stack),
        };
        let cells = vec![
            text(name::site(process, &process.sites[pair.waiter])),
            text(holder),
            Cell::Number(pair.waited),
            Cell::Number(pair.waits as f64),
            Cell::Number(pair.locks as f64),
        ];
        Row { cells, details: String::new(), brief: Vec::new() }
    })
}
