//! The results of this crate, as plain data.

pub mod hex;
mod section;
mod stack;

pub use section::Section;
pub use stack::{Frame, Module, Stack, SymbolSource};
