//! Text on a terminal: colours, tables, and paragraphs that are broken into lines of its width.

mod style;
pub mod table;
mod wrap;

pub use style::Style;
pub use table::{Cell, Paint, cell, printable, shorten};
pub use wrap::wrapped;
