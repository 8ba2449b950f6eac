//! wip
pub mod btf;
pub mod cpio;
pub mod classes;
mod error;
pub mod image;
pub mod machine;
pub mod needed;
pub mod planning;
pub mod report;
pub mod symbols;
pub use error::Error;
