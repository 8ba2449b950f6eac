//! The files of a program, and the information in them. One file is an [`image::Image`]; all files
//! together are a [`library::Library`].

pub mod calls;
pub mod demangle;
pub mod files;
pub mod image;
pub mod library;
mod locals;
mod table;
pub mod unwind;
