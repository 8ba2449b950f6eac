//! The plan of a figure: what the figure shows, how it is measured, and how its result is put into
//! words.

use crate::figure::{Figure, Kind, Panel};
use crate::lab::Lab;
use crate::target::Target;

/// The plan of a figure.
pub struct Plan {
    /// The paper's name for the figure: `figure-5`, `table-2`. Names from papers other than SSYNC
    /// have a prefix, as in `scc-figure-5`.
    pub id: &'static str,
    /// The title, which says what the figure shows.
    pub title: &'static str,
    /// The horizontal axis, with its unit.
    pub x: &'static str,
    /// The vertical axis, with its unit.
    pub y: &'static str,
    /// The way in which the figure is drawn.
    pub kind: Kind,
    /// Measures the figure on a machine; `None` if the figure makes no sense there.
    pub measure: fn(&Lab, &Target) -> Option<Panel>,
    /// Sums up the panels in a sentence.
    pub says: fn(&[Panel]) -> String,
}

impl Plan {
    /// Makes the figure from the measurements on machines.
    pub fn figure(&self, panels: Vec<Panel>) -> Figure {
        let says = (self.says)(&panels);
        let Plan { id, title, x, y, kind, .. } = *self;
        Figure { id, title, x, y, kind, panels, says }
    }
}
