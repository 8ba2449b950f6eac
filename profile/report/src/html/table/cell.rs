//! A row of a table, and its cells.

/// A row's value in a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A text, for a column of text.
    Text(String),
    /// A number, for a column of numbers.
    Number(f64),
    /// A number that is not known.
    Unknown,
}

/// A cell of text.
pub fn text(text: impl Into<String>) -> Cell {
    Cell::Text(text.into())
}

/// A row of a table.
pub struct Row {
    /// The cells, one for each column.
    pub cells: Vec<Cell>,
    /// The details of the row, shown when it is opened, as HTML.
    pub details: String,
    /// The details as a few lines of text, for a row that is written as data.
    pub brief: Vec<String>,
}
