//! The results of this crate, as plain data.

mod doing;
pub mod hex;
mod section;
mod stack;

pub use doing::Doing;
pub use section::Section;
pub use stack::{Frame, Module, Stack, SymbolSource};
