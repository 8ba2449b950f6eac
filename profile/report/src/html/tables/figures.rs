//! The columns that the tables of locks and of call sites have in common.

use crate::html::table::{Cell, Column, Format, text};
use syncline_analysis::model::{Figures, Quadrant};

/// The columns' titles, meanings and formats.
pub const FIGURES: [Column; 8] = [
    ("waited", "time that threads waited, all together", Format::Duration),
    ("longest", "the longest wait", Format::Duration),
    ("held ~", "time held, an estimate from a sample", Format::Duration),
    ("contended", "share of calls that found the lock taken", Format::Percent),
    ("acquired", "acquisitions, or returns from waiting", Format::Count),
    ("/s", "acquisitions in a second of the process's time", Format::Rate),
    ("refused", "try operations that were refused", Format::Count),
    ("quadrant", "by contention and acquisitions; Q3 is harmless", Format::Quadrant),
];

/// A row's cells in these columns.
pub fn figures(figures: &Figures, quadrant: Option<Quadrant>) -> impl Iterator<Item = Cell> {
    let held = if figures.held_timed > 0 { Cell::Number(figures.held) } else { Cell::Unknown };
    [
        Cell::Number(figures.waited),
        Cell::Number(figures.waited_max),
        held,
        Cell::Number(figures.contention),
        Cell::Number(figures.calls as f64),
        Cell::Number(figures.calls_per_second),
        Cell::Number(figures.refused as f64),
        text(quadrant.map(|q| format!("{q:?}")).unwrap_or_default()),
    ]
    .into_iter()
}
