//! Shows a measurement, as text for a terminal or as a page.

mod heat_map;
mod html;
mod number;
mod shape;
mod terminal;

pub use html::html;
pub use terminal::terminal;
