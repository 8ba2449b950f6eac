//! Shows an analysis: to a person at a terminal, to a program, in a browser.

mod html;
mod json;
pub mod name;
pub mod number;
mod terminal;
pub mod whatif;
mod words;

pub use html::html;
pub use json::{SCHEMA, json};
pub(crate) use name::function as short_function;
pub use terminal::{Style, diff as terminal_diff, terminal};
