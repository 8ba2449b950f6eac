//! The files that a program was made of, and the information in them: one of them is an
//! [`image::Image`], all of them are a [`library::Library`].

pub mod calls;
pub mod demangle;
pub mod files;
pub mod image;
pub mod library;
mod locals;
mod table;
pub mod unwind;
