//! Text on a terminal: colours, tables, and paragraphs broken to its width.

pub mod table;
mod wrap;

pub use table::{Cell, Paint, cell, printable, shorten};
pub use wrap::wrapped;

/// How text on a terminal looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to use colours, as ANSI escapes.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Self {
        Style { color: false, width: 100 }
    }
}

impl Style {
    /// Columns that a line may have: at least 80.
    pub fn width(&self) -> usize {
        self.width.max(80)
    }
}
