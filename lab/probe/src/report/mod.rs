//! Shows a measurement: as text for a terminal, and as a page.

mod heat_map;
mod html;
mod number;
mod shape;
mod terminal;

pub use html::html;
pub use terminal::terminal;
