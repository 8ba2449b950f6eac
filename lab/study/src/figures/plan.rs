//! How a figure comes to be: what it shows, how it is measured, and what it says.

use crate::figure::{Figure, Kind, Panel};
use crate::lab::Lab;
use crate::target::Target;

/// How a figure comes to be.
pub struct Plan {
    /// As SSYNC calls it: `figure-5`, `table-2`.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Its horizontal axis, with the unit.
    pub x: &'static str,
    /// Its vertical axis, with the unit.
    pub y: &'static str,
    /// How it is drawn.
    pub kind: Kind,
    /// Measures it on a machine; `None` if it has no sense there.
    pub measure: fn(&Lab, &Target) -> Option<Panel>,
    /// What the panels show, in a sentence.
    pub says: fn(&[Panel]) -> String,
}

impl Plan {
    /// The figure of what was measured on machines.
    pub fn figure(&self, panels: Vec<Panel>) -> Figure {
        let says = (self.says)(&panels);
        let Plan { id, title, x, y, kind, .. } = *self;
        Figure { id, title, x, y, kind, panels, says }
    }
}
